"""Outcomes of a measure along the compared axis: settings with one outcome stand together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from flashcrowd.base import metrics
from flashcrowd.report import wording
from flashcrowd.report.compared import Compared
from flashcrowd.report.finding import Finding, Kind, finding
from flashcrowd.report.measure import Measure
from flashcrowd.report.statistics import Estimate

#: Outcomes are one if their ratios differ by no more than this factor.
_ALIKE = 1.3

#: Numbers of several settings share a clause if they differ by no more than this factor.
_NEAR = 1.5

#: The same for those of a trend.
_TREND = 1.1


@dataclass(frozen=True)
class Clause:
    """One outcome, and the settings in which it came out.

    Attributes:
        measure: of what.
        compared: along which axis.
        settings: levels of the other axes.
        findings: what came out in each of them.
    """

    measure: Measure
    compared: Compared
    settings: tuple[tuple[int, ...], ...]
    findings: tuple[Finding, ...]

    @property
    def kind(self) -> Kind:
        """The kind of outcome."""
        return self.findings[0].kind

    @property
    def differs(self) -> bool:
        """Whether something that matters differs."""
        return self.kind in ("ranked", "trend")

    @property
    def form(self) -> tuple[object, ...]:
        """The common part of outcomes in the same words."""
        return _form(self.findings[0])

    @property
    def subject(self) -> str:
        """The subject of the numbers."""
        return subject(self.measure)

    def values(self, group: Sequence[int]) -> list[float]:
        """The numbers of a group of levels in all settings."""
        return [value for it in self.findings for value in it.values(group)]

    def level(self, group: Sequence[int]) -> str:
        """The numbers of a group of levels: ``2.2 to 2.3 Mbit/s``."""
        return self._column.levels(self._means(group))

    def about(self, group: Sequence[int]) -> str:
        """The number of a level of a trend, of several settings their mean."""
        return self._column.level(*self._means(group))

    def at(self, setting: tuple[int, ...], level: int) -> str:
        """The number of one level in one setting."""
        found = self.measure.at(self.compared.settings[setting][level])
        assert found is not None
        return self._column.level(found)

    @cached_property
    def _column(self) -> wording.Column:
        return self.measure.column(self.compared.points.points)

    def _means(self, group: Sequence[int]) -> list[Estimate]:
        found = [self.measure.at(it.points[level]) for it in self.findings for level in group]
        return [each for each in found if each is not None]

    @property
    def is_whole(self) -> bool:
        """Whether it is of all levels in all settings, and of none that cannot be compared."""
        whole = len(self.compared.axis.levels)
        every = len(self.settings) == len(self.compared.settings)
        return every and all(len(found.points) == whole for found in self.findings)

    @property
    def is_wide(self) -> bool:
        """Whether its settings have so different numbers that only the change is one."""
        found = self.findings[0]
        return any(_spread(self.values(group)) > _NEAR for group in found.groups)


def subject(measure: Measure) -> str:
    """A measure as the subject of a sentence, in the singular."""
    noun = metrics.metric(measure.metric).noun if measure.metric else ""
    name = measure.name.removeprefix("mean ")
    return name.replace(measure.metric, noun, 1) if noun else name


def _spread(values: Sequence[float]) -> float:
    low, high = min(values), max(values)
    return high / low if low > 0 else (math.inf if high > low else 1.0)


def _form(found: Finding) -> tuple[object, ...]:
    rising = found.ratio > 1 if found.kind == "trend" else None
    groups = (found.groups, found.reference, found.against, found.unsure)
    return (found.kind, *groups, found.bends, found.settles, rising)


def clauses(measure: Measure, compared: Compared) -> list[Clause]:
    """Clauses of a measure, the largest differences first; settings with one outcome together."""
    least = compared.headline.least(measure)
    better = compared.headline.better(measure)
    found = []
    for key, levels in compared.settings.items():
        one = finding(measure, least, better, compared.axis, levels, compared.baseline)
        if one is not None:
            found.append((key, one))
    found.sort(key=lambda pair: (_ORDER[pair[1].kind], -pair[1].effect))
    groups: list[list[tuple[tuple[int, ...], Finding]]] = []
    for pair in found:
        fitting = next((group for group in groups if _alike(group[0][1], pair[1])), None)
        if fitting is None:
            groups.append([pair])
        else:
            fitting.append(pair)
    return [
        Clause(
            measure,
            compared,
            tuple(sorted(key for key, _ in group)),
            tuple(one for _, one in group),
        )
        for group in groups
    ]


_ORDER: dict[Kind, int] = {"ranked": 0, "trend": 0, "same": 1, "undecided": 2}


def _alike(one: Finding, other: Finding) -> bool:
    if _form(one) != _form(other):
        return False
    if one.kind in ("same", "undecided"):
        return True
    if _spread([one.ratio, other.ratio]) > _ALIKE:
        return False
    if math.isfinite(one.effect) and math.exp(abs(one.effect - other.effect)) > _ALIKE:
        return False
    near = max(_spread([*one.values(group), *other.values(group)]) for group in one.groups)
    if one.kind == "trend":
        return near <= _TREND
    # With two levels a change needs no numbers beside it.
    changes = len(one.levels) == len(one.groups) == 2 and one.measure.unit != "%"
    return near <= _NEAR or (changes and math.isfinite(near))
