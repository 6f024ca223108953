"""Judges of this paper: numbers of runs, at all points, at most of them, or at one."""

from __future__ import annotations

from dataclasses import replace

from flashcrowd.papers import verdict
from flashcrowd.papers.aqm2014.quantities import measure
from flashcrowd.papers.aqm2014.words import described
from flashcrowd.papers.cases import conclude
from flashcrowd.papers.claim import Judge
from flashcrowd.papers.evidence import Evidence, Given
from flashcrowd.papers.measured import COMPARISONS, Measured, furthest
from flashcrowd.papers.verdict import Finding, Verdict


def mostly(evidence: Evidence, given: Given) -> Finding:
    """At more than half of the points the measure is between `low` and `high`, or as `is` says."""
    return (MEASURED.level if "is" in given else MEASURED.between)(evidence, given, verdict.most_of)


def somewhere(evidence: Evidence, given: Given) -> Finding:
    """At one point at least the measure is on the right side of `bound`; the nearest is named.

    The text names no point, so that none among ours leaves the sentence undecided.
    """
    finding = conclude(
        MEASURED.levels(evidence, given),
        lambda one: COMPARISONS[given["is"]](one, given["bound"]),
        furthest(given["is"]),
        MEASURED.words(evidence, given),
        some=True,
    )
    return (
        replace(finding, verdict=Verdict.OPEN)
        if finding.verdict is Verdict.NOT_REPRODUCED
        else finding
    )


#: The judges of its measures.
MEASURED = Measured(measure, described)

JUDGES: dict[str, Judge] = MEASURED.judges(mostly=mostly, somewhere=somewhere)
