"""Numbers at points, a row a point, with names that a reader of the paper knows."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from flashcrowd.drawing.blocks import Table
from flashcrowd.papers.evidence import StudyEvidence
from flashcrowd.report import columns, wording
from flashcrowd.report.listings import columns_of, explained
from flashcrowd.report.measures import Measure
from flashcrowd.report.points import Point


def listing(
    study: StudyEvidence,
    measures: Sequence[Measure],
    described: Callable[[StudyEvidence, Point], str],
    *,
    what: str = "",
    folded: bool = False,
) -> Table:
    """Means over the runs of every point, called as `described` says, with their intervals."""
    body: list[columns.Row] = []
    for point in study.points.points:
        found = [measure.at(point) for measure in measures]
        counts = {one.n for one in found if one is not None}
        if not counts:
            continue
        body.append([described(study, point), wording.runs(max(counts)), *found])
    units = [f" ({measure.unit})" if measure.unit else "" for measure in measures]
    header = [
        "", "runs", *(f"{m.name}{unit}" for m, unit in zip(measures, units, strict=True)),
    ]  # fmt: skip
    names = columns_of(measures)
    caption = f"{what or f'{names}. '}Means over runs with 95 % intervals. {explained(measures)}"
    return columns.table(
        header, body, caption.strip(), frozenset({0}), folded=folded or len(body) > 14
    )
