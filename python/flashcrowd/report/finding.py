"""The course of a measure along the compared axis, in one setting of all others."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

from flashcrowd.report import axis_words, trend
from flashcrowd.report.matters import Least
from flashcrowd.report.measure import Measure
from flashcrowd.report.points import Axis, Point
from flashcrowd.report.statistics import Estimate
from flashcrowd.report.trend import Differ

Kind = Literal["same", "ranked", "trend", "undecided"]

#: No equality is claimed if the runs leave room for a difference of this share.
_HOLLOW = 0.25

#: With this number of levels or fewer there is no trend.
_FEW = 2

#: Groups of levels that a sentence names at most; of more, those between become one.
_MOST_GROUPS = 4

#: Of more levels than these a baseline that is best or worst stands apart.
_MOST_WITH_BASELINE = 3


@dataclass(frozen=True)
class Finding:
    """The result.

    Attributes:
        measure: of what.
        axis: what is compared.
        kind: whether nothing that matters differs, levels are ranked, numbers follow a trend, or
            the runs are too few to tell.
        groups: levels of the axis that do not differ among each other, the best group first; of a
            trend its first level, the one where it bends or turns, and its last; of the undecided
            the two furthest.
        points: the point of each level.
        base: the baseline's level, with which a table compares the others; without one, the first.
        reference: the baseline's level, where it is better or worse than all that are ranked.
        bends: whether a trend has three groups as nothing differs before the second.
        settles: whether a trend ends before its last level, as nothing differs from there on.
        against: the level, alone in the first group, from which the ranked differ surely where
            others do not; among these where only the best and the worst differ, from each other.
        unsure: those others.
    """

    measure: Measure
    axis: Axis
    kind: Kind
    groups: tuple[tuple[int, ...], ...]
    points: dict[int, Point]
    base: int
    reference: int | None = None
    bends: bool = False
    settles: bool = False
    against: int | None = None
    unsure: tuple[int, ...] = ()

    def values(self, group: Sequence[int]) -> list[float]:
        """The means of a group of levels."""
        found = [self.measure.at(self.points[level]) for level in group]
        return [each.mean for each in found if each is not None]

    @cached_property
    def ends(self) -> tuple[float, float]:
        """The mean of the first group and of the last."""
        first, last = (self.values(self.groups[i]) for i in (0, -1))
        return math.fsum(first) / len(first), math.fsum(last) / len(last)

    @property
    def ratio(self) -> float:
        """The last group over the first; 1 where there is none."""
        first, last = self.ends
        return last / first if first and last else 1.0

    @property
    def effect(self) -> float:
        """The largest distance of two means, as the logarithm of their ratio."""
        means = self.values(self.levels)
        low, high = min(means), max(means)
        return math.log(high / low) if low > 0 else (math.inf if high > 0 else 0.0)

    @property
    def change(self) -> Estimate | None:
        """Between the two of its levels that differ most."""
        means = {level: self.values([level])[0] for level in self.levels}
        low, high = min(means, key=means.__getitem__), max(means, key=means.__getitem__)
        return between(self.measure, self.points[high], self.points[low])

    @property
    def changes(self) -> list[tuple[Estimate | None, float]]:
        """The differences that it is about, each with the larger of both numbers.

        Each compared level differs from the baseline, as in a table. The ends of a trend, and the
        best and the worst where neither differs surely from the baseline, differ from each other.
        """
        first, last = self.groups[0][0], self.groups[-1][0]
        if self.against is not None and self.against not in self.levels:
            pairs = [(last, first)]
        else:
            others = [level for level in self.points if level not in (self.base, *self.unsure)]
            pairs = [(level, self.base) for level in others]
            if self.kind == "trend" and self.base not in (first, last):
                pairs.append((last, first))
        return [
            (
                between(self.measure, self.points[one], self.points[other]),
                max(map(abs, self.values([one, other]))),
            )
            for one, other in pairs
        ]

    def ratios(self, *, back: bool = False) -> list[float]:
        """Levels of the last group over the first, or `back`: over the baseline, if it is there."""
        of, over = (self.groups[-1], self.groups[0])[:: -1 if back else 1]
        by = self.values([self.base] if self.base in over else over)
        return [value / each if each else math.inf for value in self.values(of) for each in by]

    @property
    def runs(self) -> tuple[int, int]:
        """The fewest and the most runs behind a number of it."""
        counts = [len(self.measure.runs_of(self.points[level])) for level in self.levels]
        return min(counts), max(counts)

    @property
    def levels(self) -> list[int]:
        """All levels that it names."""
        return [level for group in self.groups for level in group]


def finding(
    measure: Measure,
    least: Least,
    better: str,
    axis: Axis,
    levels: dict[int, Point],
    baseline: int | None = None,
) -> Finding | None:
    """The course of a measure over some levels; `None` if less than two can be compared.

    Args:
        measure: what is compared.
        least: which differences matter.
        better: whether "less" or "more" is, or nothing is known of that.
        axis: the axis.
        levels: the point of each of its levels.
        baseline: the level with which the others are compared.
    """
    kept = dict(sorted(_comparable(measure, levels)))
    means = {level: known.mean for level in kept if (known := measure.at(kept[level]))}
    if len(means) < 2:
        return None

    def found(kind: Kind, groups: Sequence[Sequence[int]]) -> Finding:
        base = baseline if baseline in means else min(means)
        return Finding(measure, axis, kind, tuple(map(tuple, groups)), kept, base)

    def moves(one: int, other: int) -> bool:
        return least.matters(means[one], means[other])

    def differ(one: int, other: int) -> bool:
        return moves(one, other) and _clear(measure, kept[one], kept[other])

    low, high = min(means, key=means.__getitem__), max(means, key=means.__getitem__)
    if not moves(low, high):
        hollow = _room(measure, kept[low], kept[high]) > max(
            _HOLLOW * abs(means[low]), 2 * least.beside(means[low], means[high])
        )
        return found("undecided", [[low], [high]]) if hollow else found("same", [list(means)])
    ranked = sorted(means, key=means.__getitem__, reverse=better == "more")
    if not better and ranked[-1] == min(means):
        ranked.reverse()  # neither is better: the baseline, which is first, comes first
    against = baseline if baseline in means else ranked[0]
    unsure = [level for level in ranked if level != against and not differ(level, against)]
    if not _clear(measure, kept[low], kept[high]):
        if len(unsure) < len(ranked) - 1:
            return _against(found, ranked, against, unsure)
        return found("undecided", [[low], [high]])
    ordered = len(means) > _FEW and axis_words.is_ordered(axis)
    if ordered and (going := trend.trend(means, moves, differ)):
        groups, bends, settles = going
        return replace(found("trend", groups), bends=bends, settles=settles)
    groups = _groups(ranked, differ)
    if len(groups) == 1:  # clear one way: of few runs a ratio and its inverse may disagree
        return found("undecided", [[low], [high]])
    with_it = next(group for group in groups if against in group)
    if not set(unsure) <= set(with_it):
        return _against(found, ranked, against, unsure)
    apart = [baseline] in (groups[0], groups[-1]) and len(ranked) > _MOST_WITH_BASELINE
    rest = _groups([level for level in ranked if level != baseline], differ)
    if baseline is not None and apart and len(rest) > 1:
        return replace(found("ranked", _most(rest)), reference=baseline)
    return found("ranked", _most(groups))


def _against(
    found: Callable[[Kind, Sequence[Sequence[int]]], Finding],
    ranked: list[int],
    against: int,
    unsure: list[int],
) -> Finding:
    """Levels that differ surely from one: the better, then the worse, the furthest first."""
    if len(unsure) == len(ranked) - 1:
        ends = [ranked[:1], ranked[-1:]]
        if [against] in ends:
            return found("undecided", ends)
        return replace(found("ranked", ends), against=against, unsure=tuple(unsure))
    at = ranked.index(against)
    better, worse = (
        [level for level in side if level not in unsure] for side in (ranked[:at], ranked[:at:-1])
    )
    groups = [group for group in ([against], better, worse) if group]
    return replace(found("ranked", groups), base=against, against=against, unsure=tuple(unsure))


def _comparable(measure: Measure, levels: dict[int, Point]) -> Iterator[tuple[int, Point]]:
    """Levels of which no comparison says what only the missing may have made."""
    whole = {
        level: point
        for level, point in levels.items()
        if measure.at(point) is not None and not measure.lacking(point)
    }
    # Those of which least is missing first: of the others only what they show all the same.
    kept: dict[int, Point] = {}
    for level in sorted(whole, key=lambda it: (round(measure.missing(whole[it]), 3), it)):
        if all(_fair(measure, whole[level], other) for other in kept.values()):
            kept[level] = whole[level]
            yield level, whole[level]


def _fair(measure: Measure, one: Point, other: Point) -> bool:
    if not (measure.lacks(one, other) or measure.lacks(other, one)):
        return True
    change = between(measure, one, other)
    return change is not None and measure.is_fair(change, one, other)


def between(measure: Measure, one: Point, other: Point) -> Estimate | None:
    """How much larger one point is than another, in the measure's unit, as the ratio has it.

    A common chance factor of both runs of a pair cancels in the ratio, which is known best.
    """
    ratio, base = measure.change(one, other), measure.at(other)
    if ratio is None or base is None or base.mean <= 0:
        return measure.change(one, other, relative=False)
    return ratio.scaled(base.mean)


def _clear(measure: Measure, one: Point, other: Point) -> bool:
    """Whether two points differ beyond doubt; single runs are samples, and say so elsewhere."""
    change = between(measure, one, other)
    return change is not None and (change.is_clear or change.is_sample)


def _room(measure: Measure, one: Point, other: Point) -> float:
    """The largest difference that the runs leave room for."""
    change = between(measure, one, other)
    if change is None or change.low is None or change.high is None:
        return 0.0
    return max(abs(change.low), abs(change.high))


def _groups(ranked: list[int], differ: Differ) -> list[list[int]]:
    """Neighbours that do not differ, together."""
    groups = [[ranked[0]]]
    for level in ranked[1:]:
        if any(differ(level, member) for member in groups[-1]):
            groups.append([level])
        else:
            groups[-1].append(level)
    return groups


def _most(groups: list[list[int]]) -> list[list[int]]:
    """At most four groups; of more the first, the last, and all between them."""
    if len(groups) <= _MOST_GROUPS:
        return groups
    return [groups[0], [level for group in groups[1:-1] for level in group], groups[-1]]
