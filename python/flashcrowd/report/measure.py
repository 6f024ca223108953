"""A measure: one number a run, of which means and intervals are made."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from flashcrowd.looks import Looks
from flashcrowd.report import sequential, wording
from flashcrowd.report.points import Point, Run
from flashcrowd.report.statistics import Estimate, difference, estimate
from flashcrowd.undelivered import UNDELIVERED


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
        metric: the metric behind it, see `flashcrowd.metrics`; empty for one that a paper made.
        looks: by what rule the study was stopped; `None` if its number of runs was fixed.
        until: of a run, when all was measured that the value is about, in seconds. A run that was
            cut off later counts like any other: what was cut off is not in the value.
        whole: whether only what was delivered whole has it.
        failures: whether it counts what failed; a run in which something did has it, too.
        incomplete: runs without a value in which something that should have one was not whole.
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
    whole: bool = False
    failures: bool = False
    incomplete: frozenset[int] = frozenset()

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
