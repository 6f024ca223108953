"""Observations of a metric in all runs, and the measures that are made of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from flashcrowd.base import metrics
from flashcrowd.base.looks import Looks
from flashcrowd.base.metrics import Metric, Named
from flashcrowd.report.measure import Measure
from flashcrowd.report.source import by_run

_NUMBERS = {"mean": np.mean, "smallest": np.min, "largest": np.max}


@dataclass(frozen=True)
class Observations:
    """Everything that was observed of one metric of one workload.

    Attributes:
        metric: what was observed.
        of: the workload or link.
        runs: run of each observation.
        values: the observations, in the unit of the metric, without NaN.
        parts: group and population of each observation, where it has them.
        alone: whether no other workload of the study has this metric.
        looks: by what rule the study was stopped; `None` if its number of runs was fixed.
        until: of each run, when all was measured that its observations are about, in seconds.
        incomplete: runs that have none, as not everything that should have one was whole.
        missing: run of each that should have been observed and was not: who left before they had
            the file, pings without an answer.
        missing_parts: group and population of each of these.
        shares: of each run the share that is missing, where one value is for many.
    """

    metric: Metric
    of: str
    runs: np.ndarray
    values: np.ndarray
    parts: Mapping[str, np.ndarray] = field(default_factory=dict)
    alone: bool = True
    looks: Looks | None = None
    until: Mapping[int, float] = field(default_factory=dict)
    incomplete: frozenset[int] = frozenset()
    missing: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    missing_parts: Mapping[str, np.ndarray] = field(default_factory=dict)
    shares: Mapping[int, float] = field(default_factory=dict)

    @property
    def without(self) -> Mapping[int, float]:
        """Of each run the share of what should have been observed and was not, 0 to 1."""
        if self.shares:
            return self.shares
        made, lacking = (dict(zip(*np.unique(runs, return_counts=True), strict=True))
                         for runs in (self.runs, self.missing))  # fmt: skip
        return {
            int(run): float(count / (count + made.get(run, 0))) for run, count in lacking.items()
        }

    @property
    def single(self) -> bool:
        """Whether no run has more than one, so that all statistics are the same number."""
        return len(np.unique(self.runs)) == len(self.runs)

    def only(self, part: str, name: str) -> Observations:
        """Those of one group or population."""
        chosen = self.parts[part] == name
        lacking = self.missing_parts.get(part, np.empty(0)) == name
        return replace(
            self,
            runs=self.runs[chosen],
            values=self.values[chosen],
            parts={key: names[chosen] for key, names in self.parts.items()},
            missing=self.missing[lacking] if self.missing_parts else self.missing,
            missing_parts={key: names[lacking] for key, names in self.missing_parts.items()},
        )

    def names(self, part: str) -> list[str]:
        """The groups or populations that there are, in order of appearance."""
        return list(dict.fromkeys(self.parts.get(part, np.empty(0)).tolist()))

    def measure(self, statistic: str = "mean", within: str = "") -> Measure:
        """One number a run.

        Args:
            statistic: which, see `flashcrowd.base.metrics`.
            within: what the measure's name says of the part that these observations are.
        """
        number = _number(statistic)
        of_run = {run: float(number(self.values[rows])) for run, rows in by_run(self.runs)}
        whose = "" if self.alone or self.of in self.metric.name else self.of
        named = Named(self.metric, statistic, whose, within)
        many = self.metric.many and not self.single
        name = str(named) if many else str(named).removeprefix(f"{statistic} ")
        note = self.metric.meaning
        if many:
            note = f"{note.rstrip('.')}; {_SAID.get(statistic, statistic)} of a run."
        return Measure(
            name,
            self.metric.unit,
            of_run,
            note,
            least=0.0,
            most=self.metric.most,
            more=self.metric.more,
            less=self.metric.less,
            of=self.of,
            metric=self.metric.name,
            looks=self.looks,
            until=self.until,
            failures=self.metric.failures,
            incomplete=self.incomplete,
            without=self.without,
        )


_SAID = {name: f"the {name}" for name in metrics.STATISTICS}


def _number(statistic: str):
    percentage = metrics.percentile(statistic)
    if percentage is None:
        return _NUMBERS[statistic]
    return lambda values: np.percentile(values, percentage)
