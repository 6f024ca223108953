"""Observations of a metric in all runs, and the measures that are made of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from flashcrowd import metrics
from flashcrowd.looks import Looks
from flashcrowd.metrics import Metric, Named
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

    @property
    def single(self) -> bool:
        """Whether no run has more than one, so that all statistics are the same number."""
        return len(np.unique(self.runs)) == len(self.runs)

    def only(self, part: str, name: str) -> Observations:
        """Those of one group or population."""
        chosen = self.parts[part] == name
        parts = {key: names[chosen] for key, names in self.parts.items()}
        return replace(self, runs=self.runs[chosen], values=self.values[chosen], parts=parts)

    def names(self, part: str) -> list[str]:
        """The groups or populations that there are, in order of appearance."""
        return list(dict.fromkeys(self.parts.get(part, np.empty(0)).tolist()))

    def measure(self, statistic: str = "mean", within: str = "") -> Measure:
        """One number a run.

        Args:
            statistic: which, see `flashcrowd.metrics`.
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
            whole=self.metric.whole,
            failures=self.metric.failures,
            incomplete=self.incomplete,
        )


_SAID = {name: f"the {name}" for name in metrics.STATISTICS}


def _number(statistic: str):
    percentage = metrics.percentile(statistic)
    if percentage is None:
        return _NUMBERS[statistic]
    return lambda values: np.percentile(values, percentage)
