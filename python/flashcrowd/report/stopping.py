"""Notices on a study that was repeated until it was sure: where it stopped, and why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from flashcrowd.base.looks import Looks
from flashcrowd.report import sequential, wording
from flashcrowd.report.headline import Headline
from flashcrowd.report.measure import Measure
from flashcrowd.report.points import Point, Points


def method(study: Mapping[str, object], usual: str) -> str:
    """How intervals are made, for the foot of a page; `usual` for a fixed number of runs."""
    looks = Looks.of_study(study)
    return usual if looks is None else f"{sequential.words(looks)} Elsewhere: {usual}"


def deciding(study: Mapping[str, Any], headline: Headline) -> Sequence[Measure]:
    """The measures that must be known well: those that `[report]` names, or else the first."""
    named = (study.get("report") or {}).get("headline")
    return headline.measures if named else headline.measures[:1]


def sentences(study: Mapping[str, object], headline: Headline, points: Points) -> Iterator[str]:
    """Whether every point is known as well as the study wants; nothing if it does not say."""
    looks = Looks.of_study(study)
    measures = deciding(study, headline)
    if looks is None or not measures:
        return
    until = f"{100 * looks.until:.3g} %"
    wide = [point for point in points.points if not _narrow(measures, point, looks)]
    if not wide:
        names = " and ".join(measure.name for measure in measures)
        yield f"Repeated until {names} is known within {until}: {points.count()} per point."
        return
    ended = [point for point in wide if len(point.runs) >= looks.at_most]
    if ended:
        yield (
            f"Not within {until} after the most runs that were allowed ({looks.at_most}): "
            f"{_labels(ended)}."
        )
    if len(ended) < len(wide):
        rest = [point for point in wide if point not in ended]
        yield f"Not within {until} yet, run the study again to go on: {_labels(rest)}."


def _narrow(measures: Sequence[Measure], point: Point, looks: Looks) -> bool:
    for measure in measures:
        found = measure.at(point)
        if found is None or not sequential.narrow(found, looks):
            return False
    return True


def _labels(points: list[Point]) -> str:
    shown = "; ".join(point.label for point in points[:3])
    more = len(points) - 3
    return f"{shown}; and {wording.count(more, 'other')}" if more > 0 else shown
