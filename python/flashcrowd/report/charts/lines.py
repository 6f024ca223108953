"""One line a point, panels for the other axes: the frame of curves and distributions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import LogFormatter

from flashcrowd.drawing.blocks import Figure
from flashcrowd.drawing.canvas import Canvas, canvas, key, per_cent
from flashcrowd.drawing.figure_data import Series
from flashcrowd.drawing.style import QUIET, looks
from flashcrowd.report import arrange, wording
from flashcrowd.report.arrange import Layout, Panel
from flashcrowd.report.points import Point, Points


@dataclass(frozen=True)
class Band:
    """A line with the range around it.

    Attributes:
        x: abscissae, increasing.
        y: the line.
        low: lower edge of the band, or ``None`` for a line without a band.
        high: upper edge.
    """

    x: np.ndarray
    y: np.ndarray
    low: np.ndarray | None = None
    high: np.ndarray | None = None


@dataclass(frozen=True)
class Frame:
    """The frame of the lines.

    Attributes:
        slug: name of the figure's file.
        x: label of the abscissa, with unit.
        y: label of the ordinate, with unit.
        share: the ordinate is a share, shown in per cent up to 100.
        caption: the caption but for what was left out.
        log: logarithmic abscissa.
        xlim: ends of the abscissa, if not those of the data.
        step: draw steps.
        along: axis whose levels are the lines of a panel; without, the main one.
        marks: instants on the abscissa, each with what happened then.
    """

    slug: str
    x: str
    y: str
    caption: str
    share: bool = False
    log: bool = False
    xlim: tuple[float, float] | None = None
    step: bool = False
    along: str = ""
    marks: tuple[tuple[float, str], ...] = ()


def line_figure(
    points: Points, band_of: Callable[[Point], Band | None], frame: Frame
) -> Figure | None:
    """The figure, or ``None`` if no point has a line."""
    bands = {point.index: band_of(point) for point in points.points}
    if not any(bands.values()):
        return None
    said = _marked(frame.marks)
    frame, bands = _readable(frame, bands)
    plan = arrange.curves(points, along=frame.along)
    shown = plan.panels[: arrange.MOST_PANELS]
    ordered = plan.along is not None and points.axes[plan.along].scale is not None
    columns = 1 if len(shown) == 1 else 2
    rows = -(-len(shown) // columns)
    common = _common(shown, bands)
    height = 3.1 if columns == 1 else 2.5
    with canvas(columns, rows, height=height, sharex=common) as drawing:
        for number, panel in enumerate(drawing.panels):
            if number >= len(shown):
                panel.set_visible(False)
                continue
            _panel(drawing, panel, shown[number], bands, frame, ordered=ordered)
            if number + columns >= len(shown):
                panel.set_xlabel(frame.x)
                panel.tick_params(labelbottom=True)
            if number % columns == 0:
                panel.set_ylabel(frame.y)
        if not frame.share:
            # Panels share their ordinate: a limit that is set ends its growth for all of them.
            for panel in drawing.panels:
                panel.set_ylim(bottom=0)
        if plan.along is not None:
            key(drawing, points.axes[plan.along].name, columns=6)
        svg = drawing.svg(logarithmic=not frame.share)
    caption = frame.caption + said + _left_out(plan)
    return Figure(frame.slug, svg, caption, frame.caption.split(". ")[0])


def _readable(frame: Frame, bands: dict[int, Band | None]) -> tuple[Frame, dict[int, Band | None]]:
    """The same with an abscissa in minutes, where seconds would be too many to read."""
    last = max(float(band.x[-1]) for band in bands.values() if band is not None)
    name, _, unit = frame.x.rpartition(" (")
    unit, factor = wording.readable(unit.removesuffix(")"), [last])
    if factor == 1 or frame.log:
        return frame, bands
    there = {
        point: None if band is None else replace(band, x=band.x * factor)
        for point, band in bands.items()
    }
    xlim = None if frame.xlim is None else (frame.xlim[0] * factor, frame.xlim[1] * factor)
    marks = tuple((instant * factor, word) for instant, word in frame.marks)
    return replace(frame, x=f"{name} ({unit})", xlim=xlim, marks=marks), there


def _panel(
    drawing: Canvas,
    panel: Axes,
    content: Panel,
    bands: dict[int, Band | None],
    frame: Frame,
    *,
    ordered: bool,
) -> None:
    shown = looks(len(content.lines), ordered=ordered)
    shade = 0.16 if len(content.lines) <= 3 else 0.08
    for number, (line, look) in enumerate(zip(content.lines, shown, strict=True)):
        band = bands[line.points[0].index]
        if band is None:
            continue
        if band.low is not None and band.high is not None:
            panel.fill_between(
                band.x, band.low, band.high, color=look.color, alpha=shade, linewidth=0,
                step="post" if frame.step else None,
            )  # fmt: skip
        (drawn,) = panel.plot(
            band.x, band.y, color=look.color, linestyle=look.dashes, marker=look.marker,
            markevery=(0.03 + 0.028 * number, 0.3), label=line.label or None,
            drawstyle="steps-post" if frame.step else "default",
        )  # fmt: skip
        drawing.tip(drawn, line.points[0].label)
        low, high = (() if each is None else each.tolist() for each in (band.low, band.high))
        drawing.note(Series(panel, line.label, band.x.tolist(), band.y.tolist(), low, high))
    _marks(panel, frame.marks)
    panel.set_title(content.title)
    if frame.log:
        panel.set_xscale("log")
        panel.xaxis.set_major_formatter(LogFormatter())
        panel.xaxis.set_minor_formatter(LogFormatter(minor_thresholds=(1, 0.4)))
    if frame.xlim:
        panel.set_xlim(*frame.xlim)
    if frame.share:
        panel.set_ylim(0, 1.03)
        per_cent(panel)


def _marks(panel: Axes, marks: Sequence[tuple[float, str]]) -> None:
    """Instants with their numbers; their meanings are in the caption, which has room for them."""
    numbers: dict[float, list[str]] = {}
    for number, (instant, _) in enumerate(marks, 1):
        numbers.setdefault(instant, []).append(str(number))
    for instant, found in numbers.items():
        panel.axvline(instant, color=QUIET, linewidth=0.9, linestyle=(0, (2, 2)), zorder=1)
        panel.annotate(
            ", ".join(found), (instant, 0.99), xycoords=("data", "axes fraction"),
            xytext=(3, 0), textcoords="offset points", va="top", fontsize=8, color=QUIET,
        )  # fmt: skip


def _marked(marks: Sequence[tuple[float, str]]) -> str:
    """The meaning of the marks, for a caption."""
    said = [f"({number}) at {t:g} s {words}" for number, (t, words) in enumerate(marks, 1)]
    return f" Marks: {'; '.join(said)}." if said else ""


def _common(panels: Sequence[Panel], bands: Mapping[int, Band | None]) -> bool:
    """Whether one abscissa serves all panels: not if some would be squeezed to a corner."""
    ends = []
    for panel in panels:
        found = [bands[point.index] for line in panel.lines for point in line.points]
        ends.append(max((float(band.x[-1]) for band in found if band is not None), default=0.0))
    return min(ends) > 0.5 * max(ends)


def _left_out(plan: Layout) -> str:
    hidden = len(plan.panels) - arrange.MOST_PANELS
    if hidden <= 0:
        return ""
    return f" Only the first {arrange.MOST_PANELS} of {len(plan.panels)} combinations are drawn."
