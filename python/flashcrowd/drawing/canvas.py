"""Drawing with matplotlib into SVG text that is the same, byte for byte, every time."""

from __future__ import annotations

import html
import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from matplotlib import rc_context
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure as Drawing
from matplotlib.ticker import (
    FuncFormatter,
    LogLocator,
    NullLocator,
)

from flashcrowd.drawing import figure_data, fitting, printing, series_marks, style
from flashcrowd.drawing.blocks import Svg
from flashcrowd.drawing.figure_data import Series
from flashcrowd.drawing.printing import Printing

#: Width of a figure in inches: one column of a page, legible in one column of a paper.
WIDTH = 6.8

#: Height of a line of a legend, in inches.
_LEGEND_LINE = 0.17

#: The number of lines that fit into a figure of the largest height.
_LEGEND_LINES = 6

#: Up to this width, in inches, panels stand below each other.
_STACKED = 4.6

_FONTS = "DejaVu Sans, Verdana, Segoe UI, Helvetica, Arial, sans-serif"


@dataclass(frozen=True)
class _Key:
    """A legend: what it shows, and how many columns it may have."""

    handles: list[Artist]
    labels: list[str]
    title: str
    columns: int


class Canvas:
    """A drawing in progress: panels, their numbers, and tips where the pointer rests."""

    def __init__(self, drawing: Drawing, panels: list[Axes]) -> None:
        self.drawing = drawing
        self.panels = panels
        self._tips: list[str] = []
        self._key: _Key | None = None
        self._series: list[Series] = []

    def tip(self, artist: Artist, text: str) -> None:
        """Show `text` where the pointer rests on `artist`."""
        artist.set_gid(f"tip-{len(self._tips)}")
        self._tips.append(text)

    def note(self, series: Series) -> None:
        """The numbers of a line, for the file of the figure's data."""
        self._series.append(series)

    def key(self, handles: list[Artist], labels: list[str], title: str, columns: int) -> None:
        """One legend for all panels, above them."""
        self._key = _Key(handles, labels, title, columns)

    def svg(self, *, logarithmic: bool = False) -> Svg:
        """The drawing as SVG text, without an XML declaration, for screens and for phones.

        Args:
            logarithmic: also with a logarithmic ordinate, if its numbers span more than a decade.
        """
        data = figure_data.text(self._series, self.panels)
        series_marks.mark(self.panels, self._key.labels if self._key else [])
        logarithmic = logarithmic and figure_data.spans_decades(self._series)
        how = printing.wanted()
        wide = self._text(WIDTH)
        log = self._logarithmic(WIDTH) if logarithmic else ""
        printed = self._printed(how) if how and (how.width or WIDTH) > _STACKED else {}
        self.drawing.set_figwidth(WIDTH)
        fitting.stack(self.drawing)
        narrow = self._narrow(self._text(fitting.NARROW))
        if how and not printed:
            printed = self._printed(how)
        both = (log, self._narrow(self._logarithmic(fitting.NARROW))) if logarithmic else ()
        return Svg(wide, narrow, both, data, printed)

    def _narrow(self, text: str) -> str:
        """A drawing for phones: it has no tips, and its paths are as exact as its pixels."""
        text = re.sub(r' id="tip-\d+"|<title>[^<]*</title>', "", text)
        return re.sub(r' d="[^"]*"', _coarse, text)

    def _logarithmic(self, width: float) -> str:
        """The drawing with logarithmic ordinates; as it was afterwards."""
        limits = [panel.get_ylim() for panel in self.panels]
        for panel in self.panels:
            together = panel.get_shared_y_axes().get_siblings(panel)
            values = [float(y) for each in self._series if each.panel in together for y in each.y]
            logarithmic(panel, min(values, default=1.0), max(values, default=10.0))
        text = self._text(width)
        for panel, (bottom, top) in zip(self.panels, limits, strict=True):
            panel.set_yscale("linear")
            panel.set_ylim(bottom, top)
        return text

    def _printed(self, how: Printing) -> dict[str, bytes]:
        """The drawing in the format and width that are asked for."""
        width, height = (float(side) for side in self.drawing.get_size_inches())
        chosen = how.width or WIDTH
        rows = max(1, round(height / fitting.NARROW_HEIGHT)) if chosen <= _STACKED else 1
        self.drawing.set_size_inches(chosen, min(height, rows * max(0.75 * chosen, 1.6)))
        if how.format == "svg":
            found = self._text(chosen, ", ".join(how.fonts)).encode()
        else:
            self._laid_out(chosen)
            legends = self._legend(chosen)
            dpi = self.drawing.get_dpi()
            found = printing.printed(self.drawing, how.format)
            self.drawing.set_dpi(dpi)
            for legend in legends:
                legend.remove()
        self.drawing.set_size_inches(width, height)
        return {how.format: found}

    def _laid_out(self, width: float) -> None:
        """Labels for a figure of this width, which becomes higher where they are long."""
        more: dict[int, float] = {}
        for panel in self.panels:
            fitting.wrap(panel, width / fitting.columns(self.drawing))
            row = fitting.row(panel)
            more[row] = max(
                more.get(row, 0.0), fitting.turn(panel, width / fitting.columns(self.drawing))
            )
        self._grow(sum(more.values()))

    def _grow(self, inches: float) -> None:
        self.drawing.set_figheight(float(self.drawing.get_figheight()) + inches)

    def _text(self, width: float, fonts: str = _FONTS) -> str:
        """The SVG, with labels and a legend for a figure of this width."""
        height = float(self.drawing.get_figheight())
        self._laid_out(width)
        legends = self._legend(width)
        sink = io.StringIO()
        FigureCanvasSVG(self.drawing).print_svg(sink, metadata={"Date": None, "Creator": None})
        for legend in legends:
            legend.remove()
        self.drawing.set_figheight(height)
        text = sink.getvalue()
        text = text[text.index("<svg") :]
        text = re.sub(r"<metadata>.*?</metadata>\s*", "", text, flags=re.DOTALL)
        # One font for the whole drawing, which the page around it can replace.
        text = re.sub(r" font-family: [^;\"]*;", "", text)
        # matplotlib before 3.9 says size and family in one.
        text = re.sub(r"\bfont: (?:(bold|\d+) )?([\d.]+px) [^;\"]*", _size_alone, text)
        text = text.replace("<svg ", f'<svg font-family="{fonts}" ', 1)
        for number, tip in enumerate(self._tips):
            text = re.sub(
                rf'(<g (?:id="tip-{number}"|id="tip-{number}-series-\d+")>)',
                lambda found, tip=tip: f"{found[1]}<title>{html.escape(tip)}</title>",
                text,
                count=1,
            )
        text = series_marks.classed(text)
        return re.sub(r"(\d+\.\d\d)\d{3,}(?![^<>]*</text>)", r"\1", text)

    def _legend(self, width: float) -> list[Artist]:
        if self._key is None:
            return []
        longest = max(len(label) for label in self._key.labels)
        fit = int(78 * width / WIDTH / (longest + 6))
        columns = max(1, min(self._key.columns, len(self._key.labels), fit))
        legend = self.drawing.legend(
            self._key.handles,
            self._key.labels,
            loc="outside upper left",
            ncols=columns,
            title=self._key.title or None,
            alignment="left",
            handlelength=2.6,
            columnspacing=1.4,
        )
        series_marks.mark_key(legend)
        lines = -(-len(self._key.labels) // columns) + bool(self._key.title)
        self._grow(_LEGEND_LINE * max(0, lines - (0 if width < WIDTH else _LEGEND_LINES)))
        return [legend]


@contextmanager
def canvas(
    columns: int = 1,
    rows: int = 1,
    *,
    height: float = 3.0,
    sharex: bool = True,
    sharey: bool = True,
) -> Iterator[Canvas]:
    """A canvas with a grid of panels.

    Args:
        columns: panels side by side; on a phone they stand below each other.
        rows: panels on top of each other.
        height: height of a row, in inches.
        sharex: all panels have one abscissa.
        sharey: all panels have one ordinate.
    """
    how = printing.wanted()
    fonts = {"font.sans-serif": how.fonts} if how else {}
    with rc_context({**style.RC, **fonts}):  # pyright: ignore[reportArgumentType]
        drawing = Drawing(figsize=(WIDTH, height * rows), layout="constrained")
        grid = drawing.subplots(rows, columns, squeeze=False, sharex=sharex, sharey=sharey)
        yield Canvas(drawing, list(grid.flat))


def key(canvas: Canvas, title: str = "", *, columns: int = 4) -> None:
    """One legend for all panels, above them."""
    found: dict[str, Artist] = {}
    for panel in canvas.panels:
        handles, labels = panel.get_legend_handles_labels()
        found.update(
            {
                label: handle
                for handle, label in zip(handles, labels, strict=True)
                if label not in found
            }
        )
    if found:
        canvas.key(list(found.values()), list(found), title, columns)


def from_zero(values: list[float]) -> bool:
    """Whether an axis of these values should begin at zero: not if all lay in its last quarter.

    Values that hardly differ are shown as such, and do not fill the axis.
    """
    if not values:
        return True
    least, most = min(values), max(values)
    return least < 0.75 * most or most - least < 0.005 * most


def logarithmic(panel: Axes, least: float, most: float) -> None:
    """A logarithmic ordinate for values from `least` (> 0) to `most`, its numbers written out."""
    panel.set_yscale("log", nonpositive="clip")
    panel.set_ylim(least / 1.3, most * 1.3)
    subs = (1.0, 2.0, 5.0) if most < 1000 * least else (1.0,)
    panel.yaxis.set_major_locator(LogLocator(subs=subs))
    panel.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    panel.yaxis.set_minor_locator(NullLocator())


def per_cent(panel: Axes) -> None:
    """Show the shares on the ordinate in per cent."""
    panel.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:g} %"))


def _coarse(found: re.Match[str]) -> str:
    """A path to a tenth of a point, which is less than a pixel of a phone."""
    return re.sub(r"(\d\.\d)\d+", r"\1", found[0])


def _size_alone(font: re.Match[str]) -> str:
    weight = f"; font-weight: {font[1]}" if font[1] else ""
    return f"font-size: {font[2]}{weight}"
