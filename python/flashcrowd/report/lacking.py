"""Notices on points whose means leave out what would have taken longest."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from flashcrowd.base import metrics
from flashcrowd.report import axis_words, wording
from flashcrowd.report.measure import Measure
from flashcrowd.report.points import Point, Points, Run

#: Where more would be named, they are counted.
_MOST_NAMES = 3

#: The words for runs that did not deliver everything; others were cut off.
_HOW = {"undelivered": "undelivered", "stalled": "stalled"}


def sentences(measure: Measure, points: Points) -> Iterator[str]:
    """Where runs are not in the mean, and where a part of each run is not."""
    name = wording.sentence(measure.name)
    where = [(point, runs) for point in points.points if (runs := _runs(measure, point))]
    if where and len(points.points) == 1:
        yield f"{name}: {where[0][1]}, and not in the mean."
    elif where:
        each = _each([point for point, _ in where], points)
        named = [f"{at} ({runs})" for at, (_, runs) in zip(each, where, strict=True)]
        yield f"With {_listed(named, 'at')}, {measure.name} is not compared."
    parts = [(point, share(measure, point)) for point in points.points if measure.lacks(point)]
    if parts:
        lost = metrics.metric(measure.metric).lost if measure.metric else "what never ended"
        each = _each([point for point, _ in parts], points)
        named = [f"{part} with {at}" for at, (_, part) in zip(each, parts, strict=True)]
        if len(points.points) == 1:
            named = [f"{parts[0][1]} of all"]
        yield f"The {measure.name} leaves out {lost}: {_listed(named, 'some at')}."


def share(measure: Measure, point: Point) -> str:
    """How much of what should be in the mean of a point is not there: "12 %"."""
    per_cent = 100 * measure.missing(point)
    return f"{wording.number(per_cent, 1 if per_cent < 10 else 0)} %"


def how_many(runs: Sequence[Run], every: int) -> str:
    """How many runs of how many did not end as planned, and how: "8 of 8 runs stalled"."""
    kinds = dict.fromkeys(_HOW.get(run.outcome, "cut off") for run in runs)
    return f"{len(runs)} of {every} runs {' or '.join(kinds)}" if runs else ""


def _runs(measure: Measure, point: Point) -> str:
    return how_many(measure.lacking(point), len(point.runs))


def _each(some: Sequence[Point], points: Points) -> list[str]:
    return [axis_words.point(points, point, named=i > 0) for i, point in enumerate(some)]


def _listed(where: Sequence[str], others: str) -> str:
    if len(where) > _MOST_NAMES:
        more = len(where) - _MOST_NAMES + 1
        where = [*where[: _MOST_NAMES - 1], f"{others} {more} other points"]
    if " and " not in where[0]:
        return wording.listed(where)
    *most, last = where
    return f"{', '.join(most)}, and {last}" if most else last
