"""Verdicts: what the data say about a sentence, and never what we wished.

A verdict rests on an interval. A bound is kept if the whole interval keeps it, broken if the whole
interval breaks it, and open if the bound lies inside: then more runs would decide.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import Enum

from flashcrowd.report.statistics import Estimate

MEANING = (
    "A sentence is reproduced if the whole 95 % interval of the deciding number keeps it, not "
    "reproduced if the whole interval breaks it, and undecided if the bound lies inside the "
    "interval"
)
"""What decides."""


class Verdict(Enum):
    """What became of a claim.

    One that holds because its sentence gave a parameter is reproduced by construction: it could
    fail, but that it holds shows nothing, so it is counted apart.
    """

    REPRODUCED = "reproduced"
    BY_CONSTRUCTION = "by construction"
    NOT_REPRODUCED = "not reproduced"
    OPEN = "undecided"
    NOT_TESTABLE = "not testable"
    NOT_RUN = "not run"

    @property
    def mark(self) -> str:
        """The colour of its cell."""
        return {
            Verdict.REPRODUCED: "good",
            Verdict.NOT_REPRODUCED: "bad",
            Verdict.OPEN: "open",
        }.get(self, "none")


@dataclass(frozen=True)
class Finding:
    """A verdict with the numbers it rests on.

    Attributes:
        verdict: the verdict.
        measured: the deciding number in words, with unit and interval.
        n: runs behind it, or 0 where no run was needed.
        why: what the numbers say about the reason, where there is something to say.
    """

    verdict: Verdict
    measured: str
    n: int = 0
    why: str = ""

    def because(self, why: str) -> Finding:
        """The same finding with a further reason."""
        return replace(self, why=" ".join(part for part in (self.why, why) if part))


def at_most(found: Estimate, bound: float) -> Verdict:
    """Whether the mean is at most `bound`."""
    low, high = _ends(found)
    if high <= bound:
        return Verdict.REPRODUCED
    return Verdict.NOT_REPRODUCED if low > bound else Verdict.OPEN


def more_than(found: Estimate, bound: float) -> Verdict:
    """Whether the mean is more than `bound`."""
    low, high = _ends(found)
    if low > bound:
        return Verdict.REPRODUCED
    return Verdict.NOT_REPRODUCED if high <= bound else Verdict.OPEN


def less_than(found: Estimate, bound: float) -> Verdict:
    """Whether the mean is less than `bound`."""
    low, high = _ends(found)
    if high < bound:
        return Verdict.REPRODUCED
    return Verdict.NOT_REPRODUCED if low >= bound else Verdict.OPEN


def every_run_at_most(found: Estimate, bound: float) -> Verdict:
    """Whether no run exceeds `bound`; for extremes, which have no mean to be uncertain of."""
    return Verdict.REPRODUCED if found.maximum <= bound else Verdict.NOT_REPRODUCED


def every_run_more_than(found: Estimate, bound: float) -> Verdict:
    """Whether all runs exceed `bound`; for extremes, which have no mean to be uncertain of."""
    return Verdict.REPRODUCED if found.minimum > bound else Verdict.NOT_REPRODUCED


def within(found: Estimate, bound: float) -> Verdict:
    """Whether the mean is no further from zero than `bound`."""
    low, high = _ends(found)
    if -bound <= low and high <= bound:
        return Verdict.REPRODUCED
    return Verdict.NOT_REPRODUCED if low > bound or high < -bound else Verdict.OPEN


def within_factor(found: Estimate, published: float, factor: float) -> Verdict:
    """Whether the mean is at most `factor` times `published`, and at least that share of it."""
    low, high = _ends(found)
    least, most = published / factor, published * factor
    if least <= low and high <= most:
        return Verdict.REPRODUCED
    return Verdict.NOT_REPRODUCED if low > most or high < least else Verdict.OPEN


def all_of(verdicts: Iterable[Verdict]) -> Verdict:
    """A sentence about all cases: one counterexample breaks it, one doubt leaves it open."""
    return _worst(verdicts, (Verdict.NOT_REPRODUCED, Verdict.OPEN, Verdict.REPRODUCED))


def any_of(verdicts: Iterable[Verdict]) -> Verdict:
    """A sentence about some case: one example is enough, one doubt keeps it from being broken."""
    return _worst(verdicts, (Verdict.REPRODUCED, Verdict.OPEN, Verdict.NOT_REPRODUCED))


def most_of(verdicts: Iterable[Verdict]) -> Verdict:
    """A sentence about most cases: more than half of them decide it."""
    given = list(verdicts)
    for verdict in (Verdict.REPRODUCED, Verdict.NOT_REPRODUCED):
        if 2 * given.count(verdict) > len(given):
            return verdict
    return Verdict.OPEN


def _worst(verdicts: Iterable[Verdict], order: tuple[Verdict, ...]) -> Verdict:
    given = set(verdicts)
    for verdict in order:
        if verdict in given:
            return verdict
    return Verdict.NOT_RUN


def _ends(found: Estimate) -> tuple[float, float]:
    """The interval; a single run proves nothing and is taken as infinitely uncertain."""
    if found.low is None or found.high is None:
        return float("-inf"), float("inf")
    return found.low, found.high
