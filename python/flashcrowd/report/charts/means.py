"""A measure against the setting that was swept: means, intervals, smallest and largest run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TypedDict

from matplotlib.axes import Axes
from matplotlib.transforms import ScaledTranslation

from flashcrowd.drawing import fitting
from flashcrowd.drawing.blocks import Figure
from flashcrowd.drawing.canvas import Canvas, canvas, from_zero, key
from flashcrowd.drawing.figure_data import Series
from flashcrowd.drawing.style import QUIET, SeriesStyle, looks
from flashcrowd.report import wording
from flashcrowd.report.arrange import Line, layout
from flashcrowd.report.measures import Measure
from flashcrowd.report.points import Axis, Point, Points
from flashcrowd.report.statistics import Estimate

#: On an axis of categories the lines are this far from each other, in points.
_ASIDE = 7.0

READING = "Points are means over runs, thick bars 95 % intervals, thin bars the range of the runs"

#: Of two runs an interval says nothing that the runs do not say.
READING_TWO = "Points are means over runs, dots the two runs"

#: An axis of fewer levels compares cases: a line between them would show nothing.
_FEWEST_JOINED = 3


@dataclass(frozen=True)
class Shown:
    """The part of each point that a figure of means shows.

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


def means(
    measure: Measure, points: Points, slug: str, *, along: str = "", lines: str = ""
) -> Figure | None:
    """The figure of `measure` at `points`, see :func:`draw`."""
    means = [found.mean for point in points.points if (found := measure.at(point))]
    unit, factor = wording.readable(measure.unit, means)

    def at(point: Point) -> Estimate | None:
        found = measure.at(point)
        return found if found is None or factor == 1 else found.scaled(factor)

    shown = Shown(measure.name, unit, at, "")
    return draw(shown, points, slug, along=along, lines=lines)


def draw(
    shown: Shown, points: Points, slug: str, *, along: str = "", lines: str = ""
) -> Figure | None:
    """The figure of means, or ``None`` if it is the same at every point that has it.

    Args:
        shown: what is drawn.
        points: at which points.
        slug: name of the figure's file.
        along: name of the axis that becomes the abscissa; without, the main one.
        lines: name of the axis whose levels are lines, see :func:`layout`.
    """
    there = {p: estimate for p in points.points if (estimate := shown.at(p)) is not None}
    found = list(there.values())
    plan = layout(points, along=along, lines=lines)
    if plan.along is not None and len({p.levels[plan.along] for p in there}) < 2:
        # Along that axis all numbers are at one place.
        points = points.only(list(there))
        plan = layout(points, along=along, lines=lines)
    if plan.along is None or len({estimate.mean for estimate in found}) < 2:
        return None
    zero = from_zero([end for estimate in found for end in (estimate.minimum, estimate.maximum)])
    highest = max(estimate.mean for estimate in found)
    below = any(estimate.minimum < 0 for estimate in found)
    axis = points.axes[plan.along]
    scale = axis.scale
    if scale and not scale.unit and len(axis.levels) < _FEWEST_JOINED:
        scale = None  # none or one of something: two cases, and no quantity
    places = scale.values if scale else tuple(float(i) for i in range(len(axis.levels)))
    most = max(len(panel.lines) for panel in plan.panels)
    columns = min(2, len(plan.panels))
    rows = -(-len(plan.panels) // columns)
    with canvas(columns, rows, height=3.1) as drawing:
        for panel, content in zip(drawing.panels, plan.panels, strict=False):
            for number, (line, look) in enumerate(zip(content.lines, looks(most), strict=False)):
                # On a numeric abscissa points are at their values, though lines meet there: markers
                # are hollow, and bars lie inside of those of the line before.
                count = len(content.lines)
                aside = 0.0 if scale else _ASIDE * (number - (count - 1) / 2)
                bar = 3.0 if aside or count == 1 else 3.0 + 1.5 * min(4, count - 1 - number)
                # Between categories there is nothing that a line could pass through.
                joined = scale is not None and len(axis.levels) >= _FEWEST_JOINED
                _line(
                    drawing, panel, line, look, shown, (plan.along, axis), places, (aside, bar),
                    joined,
                )  # fmt: skip
            panel.set_title(content.title)
            panel.set_xlabel(axis.title)
            panel.tick_params(labelbottom=True)
            _abscissa(panel, axis, places, numeric=scale is not None)
            for value, word in shown.lines.items():
                panel.axhline(value, color=QUIET, linewidth=0.9, linestyle=(0, (2, 2)))
                panel.annotate(
                    word, (0.01, value), xycoords=("axes fraction", "data"), va="bottom",
                    fontsize=8, color=QUIET,
                )  # fmt: skip
            if zero:
                panel.set_ylim(bottom=min(0, panel.get_ylim()[0]) if below else 0)
                if highest > 0.97 * panel.get_ylim()[1]:
                    panel.set_ylim(top=1.05 * highest)  # room for half a marker
        for panel in drawing.panels[len(plan.panels) :]:
            panel.set_visible(False)
        for panel in drawing.panels[::columns]:
            panel.set_ylabel(f"{shown.name} ({shown.unit})")
        if most > 1:
            key(drawing)
        svg = drawing.svg(logarithmic=True)
    reading = READING_TWO if all(each.n == 2 for each in found) else READING
    caption = (
        f"{wording.sentence(shown.name)} against {axis.name}. {reading}; {points.count()} per "
        f"point. {shown.note}{'' if zero else ' The ordinate does not begin at zero.'}"
    ).rstrip()
    return Figure(slug, svg, caption, f"{shown.name} in {shown.unit} against {axis.title}")


def _line(
    drawing: Canvas,
    panel: Axes,
    line: Line,
    look: SeriesStyle,
    shown: Shown,
    axes: tuple[int, Axis],
    places: tuple[float, ...],
    place: tuple[float, float],
    joined: bool,
) -> None:
    aside, width = place
    along, axis = axes
    xs, ys, there = [], [], []
    where = panel.transData + ScaledTranslation(
        aside / 72, 0, drawing.drawing.dpi_scale_trans
    )  # fmt: skip
    for point in line.points:
        found = shown.at(point)
        if found is None:
            continue
        x = places[point.levels[along]]
        xs.append(x)
        ys.append(found.mean)
        there.append((point, found))
        bar = {"color": look.color, "transform": where, "solid_capstyle": "butt"}
        if found.n == 2:
            dots = {"marker": ".", "linestyle": "none", "markersize": 7}
            panel.plot([x, x], [found.minimum, found.maximum], **bar, **dots)
        else:
            panel.plot([x, x], [found.minimum, found.maximum], linewidth=0.8, **bar)
            if found.low is not None and found.high is not None:
                panel.plot([x, x], [found.low, found.high], linewidth=width, alpha=0.55, **bar)
        (marker,) = panel.plot(
            [x], [found.mean], color=look.color, transform=where, zorder=4, **_hollow(look)
        )
        panel.update_datalim([(x, end) for end in _ends(found)])
        drawing.tip(marker, f"{point.label}: {wording.with_interval(found, shown.unit)}")
    panel.autoscale_view()
    panel.plot(
        xs, ys, color=look.color, linestyle=look.dashes if joined else "none", transform=where,
        label=line.label or None, zorder=3, **_hollow(look),
    )  # fmt: skip
    names = [axis.label(point.levels[along]) for point, _ in there]
    ends = [(found.low, found.high) for _, found in there]
    drawing.note(
        Series(
            panel, line.label, xs if axis.scale else names, ys, [low for low, _ in ends],
            [high for _, high in ends], [found.n for _, found in there],
        )
    )  # fmt: skip


def _ends(found: Estimate) -> list[float]:
    """The parts of an estimate that must be inside of the panel: its interval, and all runs."""
    ends = [found.minimum, found.maximum]
    if found.n != 2:
        ends += [end for end in (found.low, found.high) if end is not None]
    return ends


class _Hollow(TypedDict):
    marker: str
    markerfacecolor: str
    markeredgecolor: str
    markeredgewidth: float
    markersize: float


def _hollow(look: SeriesStyle) -> _Hollow:
    """A marker through which those of other lines at the same place are seen."""
    return {
        "marker": look.marker,
        "markerfacecolor": "none",
        "markeredgecolor": look.color,
        "markeredgewidth": 1.4,
        "markersize": 6.5,
    }


def _abscissa(panel: Axes, axis: Axis, places: tuple[float, ...], *, numeric: bool) -> None:
    """Ticks where points can be; the whole axis, if some of its points have no number."""
    low, high = min(places), max(places)
    margin = 0.05 * (high - low) if numeric else 0.4
    panel.set_xlim(low - margin, high + margin)
    gaps = [b - a for a, b in pairwise(sorted(set(places)))]
    if not numeric:
        panel.set_xticks(places, [fitting.name(axis.label(i)) for i in range(len(axis.levels))])
    elif min(gaps, default=1.0) > 0.08 * (high - low):
        panel.set_xticks(sorted(set(places)))
