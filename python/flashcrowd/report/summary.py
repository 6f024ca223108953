"""The table at the end of a run: one row a point, means with intervals, and what went wrong."""

from __future__ import annotations

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from flashcrowd.report import wording
from flashcrowd.report.measures import Measure, all_measures
from flashcrowd.report.points import Point, Points, read
from flashcrowd.report.source import Source


def summary(results: Source) -> RenderableType:
    """A table of the first measure of a study, for a terminal.

    The measure is the mean download time if there is a swarm, else the goodput of the first
    transfer, else the first ping. Changes are against the first point, in pairs of runs that
    share a seed.
    """
    points = read(results.tables["runs"])
    measures = all_measures(results, points)
    if not measures:
        return Group(Text("No run has a number to summarise."), *_reasons(points))
    measure = measures[0]
    compared = len(points.points) > 1
    table = Table(
        title=f"{wording.sentence(measure.name)} ({measure.unit})",
        title_justify="left",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        padding=(0, 1, 0, 0),
    )
    for axis in points.axes:
        table.add_column(axis.name, justify="right")
    table.add_column("runs", justify="right", no_wrap=True)
    table.add_column("mean", justify="right", no_wrap=True)
    table.add_column("95 % interval", justify="right", no_wrap=True)
    if compared:
        table.add_column("change", justify="right", no_wrap=True)
        table.add_column("95 % interval", justify="right", no_wrap=True)
    flagged = any(not run.good for run in points.runs.values())
    if flagged:
        table.add_column("not complete")
    for point in points.points:
        table.add_row(*_row(measure, point, points, compared=compared, flagged=flagged))
    return Group(table, *_reasons(points))


def _row(
    measure: Measure, point: Point, points: Points, *, compared: bool, flagged: bool
) -> list[RenderableType]:
    row: list[RenderableType] = [
        axis.label(level) for axis, level in zip(points.axes, point.levels, strict=True)
    ]
    found = measure.at(point)
    if found is None:
        row += ["0", "–", "–"]
    else:
        row += [str(found.n), wording.mean(found), wording.interval(found)]
    if compared:
        change = None
        if point is not points.baseline:
            change = measure.change(point, points.baseline)
        if change is None:
            row += ["baseline" if point is points.baseline else "–", ""]
        else:
            text, interval = wording.change(change)
            paired = "" if found is not None and change.n == found.n else f", {change.n} pairs"
            row += [text, interval.rpartition(", n")[0] + paired]
    if flagged:
        row.append(Text(_flags(point), style="bold red"))
    return row


def _flags(point: Point) -> str:
    bad = [run.outcome for run in point.runs if not run.good]
    return ", ".join(f"{bad.count(kind)} {kind}" for kind in dict.fromkeys(bad))


def _reasons(points: Points) -> list[Text]:
    """Each reason for an incomplete run once, with how often it was given."""
    reasons = [f"{run.outcome}: {run.reason}" for run in points.runs.values() if not run.good]
    return [
        Text(f"{wording.count(reasons.count(reason), 'run')} {reason}", style="red")
        for reason in dict.fromkeys(reasons)
    ]
