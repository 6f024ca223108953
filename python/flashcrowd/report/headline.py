"""The numbers that decide: what a report and the summary of a run begin with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from flashcrowd.base import metrics
from flashcrowd.report import measures
from flashcrowd.report.baseline import Baseline, baseline
from flashcrowd.report.matters import Least, least
from flashcrowd.report.measure import Measure
from flashcrowd.report.observations import Observations
from flashcrowd.report.points import Point, Points
from flashcrowd.report.source import Source
from flashcrowd.report.statistics import Estimate

#: Measures that are chosen at most where the study names none.
_MOST = 4

#: The statistic by which a metric is judged where the study names none; others by their mean.
_DECISIVE = {"ping": "p95"}

#: Metrics that decide, the first of those that a workload has.
_CHOICE = (
    ("download time",),
    ("transfer time", "total goodput", "goodput"),
    ("ping",),
    ("page time",),
    ("one-way delay",),
)

#: Settings that say themselves what the goodput of their transfer is.
_KNOBS = ("limit",)


@dataclass(frozen=True)
class Headline:
    """The measures that decide, and what they are compared with.

    Attributes:
        measures: the measures, the most important first.
        baseline: with what each point is compared; `None` if there is only one.
        parts: for each measure of a swarm, the same measure of each part, by the part's name.
        matters: which differences of each measure do, by the measure's name.
        question: what the study asks; empty if it does not say.
        queues: how long packets wait in each link's queue.
        absent: measures that the study names, or that decide of a swarm, and no run has a number
            for.
    """

    measures: Sequence[Measure]
    baseline: Baseline | None
    parts: Mapping[str, Mapping[str, Measure]]
    matters: Mapping[str, Least] = field(default_factory=dict)
    question: str = ""
    queues: Sequence[Measure] = ()
    absent: Sequence[str] = ()

    def least(self, measure: Measure) -> Least:
        """Which differences of a measure matter."""
        return self.matters.get(measure.name, Least())

    @staticmethod
    def better(measure: Measure) -> str:
        """Whether "less" or "more" of a measure is better; empty if nothing is known of that."""
        return metrics.metric(measure.metric).better if measure.metric else ""

    def compares(self, measure: Measure) -> bool:
        """Whether any point has a change of a measure: its baseline may not have the workload."""
        if self.baseline is None:
            return False
        return any(self.change(measure, it) is not None for it in self.baseline.points.points)

    def change(self, measure: Measure, point: Point) -> Estimate | None:
        """How `measure` changes from the baseline of `point`; `None` for a baseline."""
        base = self.baseline.of(point) if self.baseline else None
        return measure.fair_change(point, base) if base is not None else None


def headline(results: Source, points: Points) -> Headline:
    """The measures of the study's `[report]`, and a sensible choice by default."""
    return chosen(results.study, measures.observations(results), points)


def chosen(
    study: Mapping[str, Any], everything: Sequence[Observations], points: Points
) -> Headline:
    """The same from observations that are there already."""
    asked = study.get("report") or {}
    named = [metrics.parse(text) for text in asked.get("headline", ())]
    found = [
        (each.measure(name.statistic, name.within), name, each)
        for name in named or _some(_decisive(everything, points))
        for each in measures.fitting(everything, name)
    ]
    by = str(asked.get("by", "none"))
    by = "" if by == "none" else by
    parts = {
        measure.name: {
            part: each.only(by, part).measure(name.statistic, part) for part in each.names(by)
        }
        for measure, name, each in found
        if by and not name.within and len(each.names(by)) > 1
    }
    titles = [str(study.get(key) or "") for key in ("description", "title")]
    return Headline(
        [measure for measure, _, _ in found],
        baseline(points, asked.get("baseline", {})),
        parts,
        {measure.name: least(asked.get("matters"), name) for measure, name, _ in found},
        next((title for title in titles if title.endswith("?")), ""),
        [each.measure() for each in everything if each.metric.name == "queueing delay"],
        [
            str(name)
            for name in named or _cut(study, everything, points)
            if not any(name == it for _, it, _ in found)
        ],
    )


def _cut(
    study: Mapping[str, Any], everything: Sequence[Observations], points: Points
) -> Iterator[metrics.Named]:
    """The default measures that cannot be taken: of swarms in which no peer got the file."""
    if not any(run.unfinished for run in points.runs.values()):
        return
    swarms = [name for name, it in study.get("workloads", {}).items() if it["kind"] == "swarm"]
    for swarm in swarms:
        metric = metrics.metric("download time")
        if not any(each.metric == metric and each.of == swarm for each in everything):
            yield metrics.Named(metric, of=swarm if len(swarms) > 1 else "")


def _some(decisive: Iterator[metrics.Named]) -> list[metrics.Named]:
    """The first of each metric, then as many others as there is room for, in their order."""
    found = list(decisive)
    first = {each.metric.name: each for each in reversed(found)}
    rest = [each for each in found if each not in first.values()]
    kept = [*first.values(), *rest][:_MOST]
    return [each for each in found if each in kept]


def _decisive(everything: Sequence[Observations], points: Points) -> Iterator[metrics.Named]:
    """The default measures: those beside the swept knob."""
    fixed = _fixed(points)
    for names in _CHOICE:
        workloads = dict.fromkeys(each.of for each in everything if each.metric.name in names)
        for of in workloads:
            have = [each.metric.name for each in everything if each.of == of]
            best = next(name for name in names if name in have)
            if best.endswith("goodput") and of in fixed and _others(everything, of):
                continue
            yield metrics.Named(metrics.metric(best), _DECISIVE.get(best, "mean"), of)


def _fixed(points: Points) -> set[str]:
    """Transfers whose rate the sweep sets."""
    paths = [path.split(".") for axis in points.axes for path in axis.paths]
    return {p[1] for p in paths if len(p) == 3 and p[0] == "workloads" and p[2] in _KNOBS}


def _others(everything: Sequence[Observations], of: str) -> bool:
    return any(each.of != of and each.metric.kind != "link" for each in everything)
