"""Tables of a paper: changes over two axes, and numbers at chosen points."""

from __future__ import annotations

from collections.abc import Sequence

from flashcrowd.drawing.blocks import Cell, Table
from flashcrowd.papers.evidence import StudyEvidence, Where
from flashcrowd.report import columns, wording
from flashcrowd.report.columns import scaled
from flashcrowd.report.listings import columns_of, explained
from flashcrowd.report.measures import Measure
from flashcrowd.report.points import Axis, Point
from flashcrowd.report.statistics import Estimate


def change_grid(
    study: StudyEvidence,
    *,
    rows: str,
    columns: str,
    against: Where,
    where: Where | None = None,
    what: str = "",
) -> Table:
    """Mean download time and its change, one axis down and one across.

    Args:
        study: the results.
        rows: name of the axis whose levels are the rows.
        columns: name of the axis whose levels are the columns.
        against: settings of the point that each cell is compared with.
        where: the points to show.
        what: what to call them in the caption.
    """
    chosen = study.points.only(study.select(where or {}))
    down, across = (_named(chosen.axes, name) for name in (rows, columns))
    cells: dict[tuple[int, int], Cell] = {}
    found = [study.download_time.at(point) for point in chosen.points]
    unit, found = scaled(study.download_time.unit, found)
    places = wording.places_of(found)
    for point, mean in zip(chosen.points, found, strict=True):
        place = point.levels[down], point.levels[across]
        cells[place] = _cell(study, point.index, against, mean, places)
    body: list[list[str | Cell]] = []
    for i in range(len(chosen.axes[down].levels)):
        line: list[str | Cell] = [chosen.axes[down].label(i)]
        body.append(
            [*line, *(cells.get((i, j), Cell("–")) for j in range(len(chosen.axes[across].levels)))]
        )
    header = [rows, *(_heading(chosen.axes[across], j) for j in range(len(body[0]) - 1))]
    reference = ", ".join(
        dict.fromkeys(f"{study.axis(name).name} {value}" for name, value in against.items())
    )
    caption = (
        f"Mean download time ({unit}){f', {what}' if what else ''}: mean over runs, its 95 % "
        f"interval, smallest to largest run, and the change against {reference} with its interval, "
        f"in pairs of runs that share a seed; {chosen.count()} per cell."
    )
    return Table(header, body, caption)


def _cell(
    study: StudyEvidence, index: int, against: Where, found: Estimate | None, places: int
) -> Cell:
    point = next(p for p in study.points.points if p.index == index)
    if found is None:
        return Cell("no complete run", mark="bad")
    small = [wording.interval(found, places=places)]
    spread = f"{wording.spread(found, places)}, " if found.n > 1 else ""
    small.append(f"{spread}{wording.runs(found.n)}")
    base = study.partner(point, against)
    if base is not None and base.index != point.index:
        change = study.download_time.change(point, base)
        if change is not None:
            text, interval = wording.change(change)
            small.append(f"{text} {interval.rpartition(', n')[0]}")
    bad = len(point.runs) - len(point.good_runs)
    if bad:
        small.append(f"{bad} not complete")
    return Cell(wording.mean(found, places=places), "\n".join(small), "bad" if bad else "")


def level_grid(study: StudyEvidence, measures: Sequence[Measure], points: Sequence[Point]) -> Table:
    """Several numbers, a row a point."""
    chosen = study.points.only(points)
    shown = [i for i, axis in enumerate(chosen.axes) if len(axis.levels) > 1]
    body: list[columns.Row] = []
    for point in chosen.points:
        row: columns.Row = [chosen.axes[i].label(point.levels[i]) for i in shown]
        found = [measure.at(point) for measure in measures]
        counts = {one.n for one in found if one is not None}
        body.append([*row, wording.runs(max(counts, default=0)), *found])
    header = [
        *(chosen.axes[i].name for i in shown),
        "runs",
        *(f"{measure.name} ({measure.unit})" for measure in measures),
    ]
    names = columns_of(measures)
    caption = f"{names}. Means over runs with 95 % intervals. {explained(measures)}".strip()
    return columns.table(header, body, caption, frozenset(range(len(shown))), len(body) > 12)


def levels(study: StudyEvidence, measure: Measure, *, relative_to: Where) -> Table:
    """One number a point, and its change against the point with `relative_to`."""
    points = study.points
    body: list[columns.Row] = []
    changed: list[Estimate | None] = []
    for point in points.points:
        row: columns.Row = [
            axis.label(level) for axis, level in zip(points.axes, point.levels, strict=True)
        ]
        found, base = measure.at(point), study.partner(point, relative_to)
        body.append([*row, wording.runs(found.n if found else 0), found])
        compared = base is not None and base.index != point.index
        changed.append(measure.change(point, base) if base is not None and compared else None)
    for row, change in zip(body, columns.changes(changed), strict=True):
        row.append(change)
    header = [
        *(axis.name for axis in points.axes), "runs", f"{measure.name} ({measure.unit})", "change",
    ]  # fmt: skip
    reference = ", ".join(f"{value}" for value in relative_to.values())
    name = wording.sentence(measure.name)
    caption = f"{name}: means over runs, and changes against {reference}. {measure.note}"
    return columns.table(header, body, caption, frozenset(range(len(points.axes))), len(body) > 12)


def _named(axes: Sequence[Axis], name: str) -> int:
    for number, axis in enumerate(axes):
        if axis.name == name:
            return number
    raise KeyError(f"no axis {name!r}; there are {', '.join(axis.name for axis in axes)}")


def _heading(axis: Axis, level: int) -> str:
    return f"{axis.name} {axis.label(level)}" if axis.scale else axis.label(level)
