"""Drawing with matplotlib into SVG text that is the same, byte for byte, every time."""

from __future__ import annotations

import html
import io
import re
from collections.abc import Iterator
from contextlib import contextmanager

from matplotlib import rc_context
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure as Drawing
from matplotlib.ticker import FuncFormatter

from flashcrowd.report import style

#: Width of a figure in inches: one column of a page, legible in one column of a paper.
WIDTH = 6.8

_FONTS = "'DejaVu Sans', Verdana, 'Segoe UI', Helvetica, Arial, sans-serif"


class Canvas:
    """A drawing in progress: panels, and tips shown when the pointer rests on something."""

    def __init__(self, drawing: Drawing, panels: list[Axes]) -> None:
        self.drawing = drawing
        self.panels = panels
        self._tips: list[str] = []

    def tip(self, artist: Artist, text: str) -> None:
        """Show `text` where the pointer rests on `artist`."""
        artist.set_gid(f"tip-{len(self._tips)}")
        self._tips.append(text)

    def svg(self) -> str:
        """The drawing as SVG text, without an XML declaration."""
        sink = io.StringIO()
        FigureCanvasSVG(self.drawing).print_svg(sink, metadata={"Date": None, "Creator": None})
        text = sink.getvalue()
        text = text[text.index("<svg") :]
        text = re.sub(r"<metadata>.*?</metadata>\s*", "", text, flags=re.DOTALL)
        text = re.sub(r"font: ([^;\"]*?)'DejaVu Sans'", rf"font: \1{_FONTS}", text)
        text = re.sub(r"(\d+\.\d\d)\d{3,}", r"\1", text)
        for number, tip in enumerate(self._tips):
            text = text.replace(
                f'<g id="tip-{number}">',
                f'<g id="tip-{number}"><title>{html.escape(tip)}</title>',
                1,
            )
        return text


@contextmanager
def canvas(
    columns: int = 1, rows: int = 1, *, height: float = 3.0, sharex: bool = True
) -> Iterator[Canvas]:
    """A canvas with a grid of panels.

    Args:
        columns: panels side by side.
        rows: panels on top of each other.
        height: height of a row, in inches.
        sharex: all panels have one abscissa; the ordinate is always one.
    """
    with rc_context(style.RC):  # pyright: ignore[reportArgumentType]
        drawing = Drawing(figsize=(WIDTH, height * rows), layout="constrained")
        grid = drawing.subplots(rows, columns, squeeze=False, sharex=sharex, sharey=True)
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
    if not found:
        return
    longest = max(len(label) for label in found)
    columns = max(1, min(columns, len(found), int(78 / (longest + 6))))
    canvas.drawing.legend(
        list(found.values()),
        list(found),
        loc="outside upper left",
        ncols=columns,
        title=title or None,
        alignment="left",
        handlelength=2.6,
        columnspacing=1.4,
    )


def from_zero(values: list[float]) -> bool:
    """Whether an axis of these values should begin at zero: not if all lay in its last quarter."""
    return not values or min(values) < 0.75 * max(values)


def per_cent(panel: Axes) -> None:
    """Show the shares on the ordinate in per cent."""
    panel.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:g} %"))
