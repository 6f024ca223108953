"""A measure against the setting that was swept: means, intervals, smallest and largest run."""

from __future__ import annotations

from flashcrowd.report import wording
from flashcrowd.report.arrange import Line, layout
from flashcrowd.report.blocks import Figure
from flashcrowd.report.canvas import Canvas, canvas, from_zero, key
from flashcrowd.report.measures import Measure
from flashcrowd.report.points import Points
from flashcrowd.report.style import Look, looks

READING = "Points are means over runs, thick bars 95 % intervals, thin bars the range of the runs"


def means(measure: Measure, points: Points, slug: str) -> Figure | None:
    """The figure of `measure`, or ``None`` if it is the same at every point that has it."""
    plan = layout(points)
    found = [estimate for p in points.points if (estimate := measure.at(p)) is not None]
    if plan.along is None or len({estimate.mean for estimate in found}) < 2:
        return None
    zero = from_zero([end for estimate in found for end in (estimate.minimum, estimate.maximum)])
    axis = points.axes[plan.along]
    places = axis.scale.values if axis.scale else tuple(float(i) for i in range(len(axis.levels)))
    most = max(len(panel.lines) for panel in plan.panels)
    columns = min(2, len(plan.panels))
    rows = -(-len(plan.panels) // columns)
    with canvas(columns, rows, height=3.1) as drawing:
        for panel, content in zip(drawing.panels, plan.panels, strict=False):
            for number, (line, look) in enumerate(zip(content.lines, looks(most), strict=False)):
                shift = _shift(number, len(content.lines), places)
                _line(drawing, panel, line, look, measure, plan.along, places, shift)
            panel.set_title(content.title)
            panel.set_xlabel(axis.title)
            panel.tick_params(labelbottom=True)
            if axis.scale is None:
                panel.set_xticks(places, [axis.label(i) for i in range(len(axis.levels))])
            if zero:
                panel.set_ylim(bottom=0)
        for panel in drawing.panels[len(plan.panels) :]:
            panel.set_visible(False)
        for panel in drawing.panels[::columns]:
            panel.set_ylabel(f"{measure.name} ({measure.unit})")
        if most > 1:
            key(drawing)
        svg = drawing.svg()
    caption = (
        f"{measure.name.capitalize()} against {axis.name}. {READING}; {points.count()} a point. "
        f"{measure.note}{'' if zero else ' The ordinate does not begin at zero.'}"
    )
    return Figure(slug, svg, caption, f"{measure.name} in {measure.unit} against {axis.title}")


def _line(
    drawing: Canvas,
    panel,
    line: Line,
    look: Look,
    measure: Measure,
    along: int,
    places: tuple[float, ...],
    shift: float,
) -> None:
    xs, ys = [], []
    for point in line.points:
        found = measure.at(point)
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
        drawing.tip(marker, f"{point.label}: {wording.with_interval(found, measure.unit)}")
    panel.plot(
        xs, ys, color=look.color, linestyle=look.dashes, marker=look.marker, markersize=5,
        label=line.label or None, zorder=3,
    )  # fmt: skip


def _shift(number: int, count: int, places: tuple[float, ...]) -> float:
    """A little to the side, so that bars of several lines do not hide each other."""
    gaps = [b - a for a, b in zip(sorted(places), sorted(places)[1:], strict=False) if b > a]
    step = 0.04 * min(gaps) if gaps else 0.0
    return (number - (count - 1) / 2) * step
