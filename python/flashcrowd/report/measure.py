"""A measure: one number a run, of which means and intervals are made."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from flashcrowd.base.looks import Looks
from flashcrowd.base.undelivered import UNDELIVERED
from flashcrowd.report import sequential, wording
from flashcrowd.report.points import Point, Run
from flashcrowd.report.statistics import Estimate, difference, estimate

_ALIKE = 0.01
"""Shares of what is missing that differ by less are called the same."""


@dataclass(frozen=True)
class Measure:
    """One number of every run.

    Attributes:
        name: what is measured, as a table heading.
        unit: its unit.
        of_run: the value of each run that has one.
        note: how it is computed, in a sentence.
        least: what it cannot be below, zero for amounts and shares; no interval goes further.
        most: what it cannot be above.
        more: what a larger one is, as in "9 % longer".
        less: what a smaller one is.
        of: the workload or link that it is about; empty if that goes without saying.
        metric: the metric behind it, see `flashcrowd.base.metrics`; empty for a paper's own.
        looks: by what rule the study was stopped; `None` if its number of runs was fixed.
        until: of a run, when all was measured that the value is about, in seconds. A run that was
            cut off later counts like any other: what was cut off is not in the value.
        failures: whether it counts what failed; a run in which something did has it, too.
        incomplete: runs without a value in which something that should have one was not whole.
        without: of a run, the share of what should be in its value and is not, 0 to 1. That share
            would have been longest, so a value of the rest is too low.
    """

    name: str
    unit: str
    of_run: Mapping[int, float]
    note: str
    least: float = 0.0
    most: float = math.inf
    more: str = "higher"
    less: str = "lower"
    of: str = ""
    metric: str = ""
    looks: Looks | None = None
    until: Mapping[int, float] = field(default_factory=dict)
    failures: bool = False
    incomplete: frozenset[int] = frozenset()
    without: Mapping[int, float] = field(default_factory=dict)

    def runs_of(self, point: Point) -> list[Run]:
        """The runs of `point` whose values count."""
        return [run for run in point.runs if run.run in self.of_run and self._counts(run)]

    def _counts(self, run: Run) -> bool:
        if self.failures and run.outcome == UNDELIVERED:
            return True
        return run.good_until(self.until.get(run.run, math.inf))

    def lacking(self, point: Point) -> list[Run]:
        """The runs of `point` without a value that counts, as they did not deliver everything.

        The others are those that fared better: their mean is no mean of the point.
        """
        counted = set(self.runs_of(point))
        return [
            run
            for run in point.runs
            if run not in counted and (run.unfinished or run.run in self.incomplete)
        ]

    def missing(self, point: Point) -> float:
        """The share of what should be in the values of `point` and is not, mean over runs."""
        lacking = set(self.lacking(point))
        runs = [run for run in point.runs if self._counts(run) and run not in lacking]
        return statistics.fmean(self.without.get(run.run, 0.0) for run in runs) if runs else 0.0

    def lacks(self, point: Point, base: Point | None = None) -> bool:
        """Whether clearly more is missing of `point` than of `base`, or than nothing.

        The value of `point` is too low then, compared with the other.
        """
        return self.missing(point) - (self.missing(base) if base is not None else 0.0) > _ALIKE

    def fair_change(self, point: Point, base: Point) -> Estimate | None:
        """The change from `base`; `None` where only those are compared that fared better."""
        if self.lacking(point) or self.lacking(base):
            return None
        change = self.change(point, base)
        return change if change is not None and self.is_fair(change, point, base) else None

    def is_fair(self, change: Estimate, point: Point, base: Point) -> bool:
        """Whether a change from `base` is more than that only those are in it that fared better.

        It is not where runs of one lack what took longest, and where the one that is shorter, or
        not clearly longer, lacks more than the other.
        """
        if self.lacking(point) or self.lacking(base):
            return False
        low = change.mean if change.low is None else change.low
        high = change.mean if change.high is None else change.high
        if self.lacks(point, base):
            return low > 0
        return high < 0 if self.lacks(base, point) else True

    def by_seed(self, point: Point) -> dict[int, float]:
        """The values of `point` that count, by the run's seed."""
        return {run.seed: self.of_run[run.run] for run in self.runs_of(point)}

    def at(self, point: Point) -> Estimate | None:
        """Mean over the runs of `point` that count."""
        values = [self.of_run[run.run] for run in self.runs_of(point)]
        if not values:
            return None
        found = sequential.estimate(values, self.looks) if self.looks else estimate(values)
        return found.within(self.least, self.most)

    def column(self, points: Iterable[Point]) -> wording.Column:
        """How its means are written, side by side."""
        return wording.Column.of(map(self.at, points), self.unit)

    def places(self, points: Iterable[Point]) -> int:
        """How many decimals its means have, side by side."""
        return wording.places_of(map(self.at, points))

    def change(self, point: Point, baseline: Point, *, relative: bool = True) -> Estimate | None:
        """How much larger `point` is than `baseline`, in pairs of runs that share a seed."""
        here, there = self.by_seed(point), self.by_seed(baseline)
        if self.looks:
            change = sequential.difference(here, there, self.looks, relative=relative)
        else:
            change = difference(here, there, relative=relative)
        if change is not None and relative and self.least >= 0:
            return change.within(-1.0, math.inf)
        return change
