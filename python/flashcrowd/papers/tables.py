"""Tables of a paper: changes over two axes, and numbers at chosen points."""

from __future__ import annotations

from collections.abc import Sequence

from flashcrowd.papers.evidence import StudyEvidence, Where
from flashcrowd.report import wording
from flashcrowd.report.blocks import Cell, Table
from flashcrowd.report.listings import explained
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
    for point in chosen.points:
        place = point.levels[down], point.levels[across]
        cells[place] = _cell(study, point.index, against)
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
        f"Mean download time in seconds{f', {what}' if what else ''}: mean over runs, its 95 % "
        f"interval, smallest to largest run, and the change against {reference} with its interval, "
        f"in pairs of runs that share a seed; {chosen.count()} a cell."
    )
    return Table(header, body, caption)


def _cell(study: StudyEvidence, index: int, against: Where) -> Cell:
    point = next(p for p in study.points.points if p.index == index)
    found = study.download_time.at(point)
    if found is None:
        return Cell("no complete run", mark="bad")
    small = [wording.interval(found)]
    small.append(f"{wording.spread(found)}, {wording.runs(found.n)}" if found.n > 1 else "n = 1")
    base = study.partner(point, against)
    if base is not None and base.index != point.index:
        change = study.download_time.change(point, base)
        if change is not None:
            text, interval = wording.change(change)
            small.append(f"{text} {interval.rpartition(', n')[0]}")
    bad = len(point.runs) - len(point.good_runs)
    if bad:
        small.append(f"{bad} not complete")
    return Cell(wording.mean(found), "\n".join(small), "bad" if bad else "")


def level_grid(study: StudyEvidence, measures: Sequence[Measure], points: Sequence[Point]) -> Table:
    """Several numbers, a row a point."""
    chosen = study.points.only(points)
    shown = [i for i, axis in enumerate(chosen.axes) if len(axis.levels) > 1]
    body: list[list[str | Cell]] = []
    for point in chosen.points:
        row: list[str | Cell] = [chosen.axes[i].label(point.levels[i]) for i in shown]
        found = [measure.at(point) for measure in measures]
        counts = {one.n for one in found if one is not None}
        row.append(wording.runs(max(counts, default=0)))
        body.append([*row, *map(_level, found)])
    header = [
        *(chosen.axes[i].name for i in shown),
        "runs",
        *(f"{measure.name} ({measure.unit})" for measure in measures),
    ]
    caption = f"Means over runs with 95 % intervals. {explained(measures)}".strip()
    return Table(header, body, caption, frozenset(range(len(shown))), folded=len(body) > 12)


def levels(study: StudyEvidence, measure: Measure, *, relative_to: Where) -> Table:
    """One number a point, and its change against the point with `relative_to`."""
    points = study.points
    body: list[list[str | Cell]] = []
    for point in points.points:
        row: list[str | Cell] = [
            axis.label(level) for axis, level in zip(points.axes, point.levels, strict=True)
        ]
        found, base = measure.at(point), study.partner(point, relative_to)
        row.append(wording.runs(found.n if found else 0))
        row.append(
            Cell("–") if found is None else Cell(wording.mean(found), wording.interval(found))
        )
        change = None
        if base is not None and base.index != point.index:
            change = measure.change(point, base)
        row.append("–" if change is None else Cell(*wording.change(change)))
        body.append(row)
    header = [
        *(axis.name for axis in points.axes), "runs", f"{measure.name} ({measure.unit})", "change",
    ]  # fmt: skip
    reference = ", ".join(f"{value}" for value in relative_to.values())
    caption = f"{measure.name}: means over runs, and changes against {reference}. {measure.note}"
    return Table(header, body, caption, frozenset(range(len(points.axes))), folded=len(body) > 12)


def _level(found: Estimate | None) -> Cell:
    return Cell("–") if found is None else Cell(wording.mean(found), wording.interval(found))


def _named(axes: Sequence[Axis], name: str) -> int:
    for number, axis in enumerate(axes):
        if axis.name == name:
            return number
    raise KeyError(f"no axis {name!r}; there are {', '.join(axis.name for axis in axes)}")


def _heading(axis: Axis, level: int) -> str:
    return f"{axis.name} {axis.label(level)}" if axis.scale else axis.label(level)
