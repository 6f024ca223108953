"""A measure against the setting that was swept: means, intervals, smallest and largest run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from flashcrowd.report import wording
from flashcrowd.report.arrange import Line, layout
from flashcrowd.report.blocks import Figure
from flashcrowd.report.canvas import Canvas, canvas, from_zero, key
from flashcrowd.report.measures import Measure
from flashcrowd.report.points import Point, Points
from flashcrowd.report.statistics import Estimate
from flashcrowd.report.style import QUIET, Look, looks

READING = "Points are means over runs, thick bars 95 % intervals, thin bars the range of the runs"


@dataclass(frozen=True)
class Shown:
    """What a figure of means shows of each point.

    Attributes:
        name: what it is, with a small first letter.
        unit: its unit.
        at: the number at a point.
        note: how it is computed, a sentence.
        lines: values worth a horizontal line, with a word for each.
    """

    name: str
    unit: str
    at: Callable[[Point], Estimate | None]
    note: str
    lines: Mapping[float, str] = field(default_factory=dict)


def means(measure: Measure, points: Points, slug: str, *, along: str = "") -> Figure | None:
    """The figure of `measure` at `points`, see :func:`draw`."""
    shown = Shown(measure.name, measure.unit, measure.at, measure.note)
    return draw(shown, points, slug, along=along)


def draw(shown: Shown, points: Points, slug: str, *, along: str = "") -> Figure | None:
    """The figure of means, or ``None`` if it is the same at every point that has it.

    Args:
        shown: what is drawn.
        points: at which points.
        slug: name of the figure's file.
        along: name of the axis that becomes the abscissa; without, the main one.
    """
    plan = layout(points, along=along)
    found = [estimate for p in points.points if (estimate := shown.at(p)) is not None]
    if plan.along is None or len({estimate.mean for estimate in found}) < 2:
        return None
    zero = from_zero([end for estimate in found for end in (estimate.minimum, estimate.maximum)])
    below = any(estimate.minimum < 0 for estimate in found)
    axis = points.axes[plan.along]
    places = axis.scale.values if axis.scale else tuple(float(i) for i in range(len(axis.levels)))
    most = max(len(panel.lines) for panel in plan.panels)
    columns = min(2, len(plan.panels))
    rows = -(-len(plan.panels) // columns)
    with canvas(columns, rows, height=3.1) as drawing:
        for panel, content in zip(drawing.panels, plan.panels, strict=False):
            for number, (line, look) in enumerate(zip(content.lines, looks(most), strict=False)):
                shift = _shift(number, len(content.lines), places)
                _line(drawing, panel, line, look, shown, plan.along, places, shift)
            panel.set_title(content.title)
            panel.set_xlabel(axis.title)
            panel.tick_params(labelbottom=True)
            if axis.scale is None:
                panel.set_xticks(places, [axis.label(i) for i in range(len(axis.levels))])
            for value, word in shown.lines.items():
                panel.axhline(value, color=QUIET, linewidth=0.9, linestyle=(0, (2, 2)))
                panel.annotate(
                    word, (0.01, value), xycoords=("axes fraction", "data"), va="bottom",
                    fontsize=8, color=QUIET,
                )  # fmt: skip
            if zero:
                panel.set_ylim(bottom=min(0, panel.get_ylim()[0]) if below else 0)
        for panel in drawing.panels[len(plan.panels) :]:
            panel.set_visible(False)
        for panel in drawing.panels[::columns]:
            panel.set_ylabel(f"{shown.name} ({shown.unit})")
        if most > 1:
            key(drawing)
        svg = drawing.svg()
    caption = (
        f"{wording.sentence(shown.name)} against {axis.name}. {READING}; {points.count()} a point. "
        f"{shown.note}{'' if zero else ' The ordinate does not begin at zero.'}"
    )
    return Figure(slug, svg, caption, f"{shown.name} in {shown.unit} against {axis.title}")


def _line(
    drawing: Canvas,
    panel,
    line: Line,
    look: Look,
    shown: Shown,
    along: int,
    places: tuple[float, ...],
    shift: float,
) -> None:
    xs, ys = [], []
    for point in line.points:
        found = shown.at(point)
        if found is None:
            continue
        x = places[point.levels[along]] + shift
        xs.append(x)
        ys.append(found.mean)
        panel.vlines(x, found.minimum, found.maximum, color=look.color, linewidth=0.8)
        if found.low is not None and found.high is not None:
            panel.vlines(x, found.low, found.high, color=look.color, linewidth=2.6)
        (marker,) = panel.plot(
            [x], [found.mean], color=look.color, marker=look.marker, markeredgecolor="white",
            markeredgewidth=0.5, markersize=6, zorder=4,
        )  # fmt: skip
        drawing.tip(marker, f"{point.label}: {wording.with_interval(found, shown.unit)}")
    panel.plot(
        xs, ys, color=look.color, linestyle=look.dashes, marker=look.marker, markersize=5,
        label=line.label or None, zorder=3,
    )  # fmt: skip


def _shift(number: int, count: int, places: tuple[float, ...]) -> float:
    """A little to the side, so that bars of several lines do not hide each other."""
    gaps = [b - a for a, b in zip(sorted(places), sorted(places)[1:], strict=False) if b > a]
    step = 0.04 * min(gaps) if gaps else 0.0
    return (number - (count - 1) / 2) * step
