"""Common points of results folders and their differences, point by point, before display."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from flashcrowd.report.compare_match import AXIS, Merged
from flashcrowd.report.compare_side import Side
from flashcrowd.report.equivalence import LEVEL, Equivalence, equivalence
from flashcrowd.report.headline import headline
from flashcrowd.report.lacking import how_many
from flashcrowd.report.measures import Measure, all_measures
from flashcrowd.report.points import Axis, Point, Points, points_of
from flashcrowd.report.statistics import Estimate


@dataclass(frozen=True)
class Pair:
    """One point in a folder, against the same point of the first folder.

    Attributes:
        point: the point, in the folder that is compared.
        base: the same point in the first folder.
        here: mean over runs, ``None`` without a complete run.
        there: mean over runs of the first folder.
        found: their relative difference and its verdict.
    """

    point: Point
    base: Point
    here: Estimate | None
    there: Estimate | None
    found: Equivalence


class Pairs:
    """The common points of two or more results folders, and their differences.

    Attributes:
        sides: the folders; the others are compared with the first one.
        margin: relative margin of the test of equivalence.
        level: of each of its two one-sided tests.
    """

    def __init__(
        self, sides: Sequence[Side], merged: Merged, margin: float, level: float = LEVEL
    ) -> None:
        self.sides = tuple(sides)
        self.merged = merged
        self.margin = margin
        self.level = level
        self._pairs: dict[str, tuple[Pair, ...]] = {}

    @cached_property
    def points(self) -> Points:
        """All points of all folders; the last axis is the folder."""
        return points_of(self.merged)

    @cached_property
    def measures(self) -> list[Measure]:
        """Measures that every folder has, those of the first one's headline before the others."""
        return [measure for measure in self._found if not self._lacking(measure)]

    @cached_property
    def decisive(self) -> int:
        """How many of the measures are of the headline."""
        names = {measure.name for measure in headline(self.merged, self.points).measures}
        return sum(measure.name in names for measure in self.measures)

    @cached_property
    def _found(self) -> list[Measure]:
        decisive = headline(self.merged, self.points).measures
        names = {measure.name for measure in decisive}
        every = all_measures(self.merged, self.points)
        return [*decisive, *(measure for measure in every if measure.name not in names)]

    @property
    def only_somewhere(self) -> list[str]:
        """Measures that some folders have and others do not, in words."""
        found = []
        for measure in self._found:
            lacking = [f"{name}{self._why(name)}" for name in self._lacking(measure)]
            if lacking:
                found.append(f"{measure.name} is not there in {' and '.join(lacking)}.")
        return found

    def _why(self, folder: str) -> str:
        """The likely reason that a folder lacks a measure: how its runs ended."""
        runs = [run for point in self.points.points if self.folder(point) == folder
                for run in point.runs]  # fmt: skip
        ended = how_many([run for run in runs if run.unfinished], len(runs))
        return f" ({ended})" if ended else ""

    @property
    def notices(self) -> list[str]:
        """The notices before the numbers."""
        return [*self.merged.notices, *self.only_somewhere]

    def folder(self, point: Point) -> str:
        """The name of the folder that a point belongs to."""
        place = self._place
        return str(self.points.axes[place].levels[point.levels[place]][0])

    def setting(self, point: Point) -> str:
        """A point in words, without its folder; empty if nothing was swept."""
        swept = [
            axis.said(level)
            for axis, level in zip(self.points.axes, point.levels, strict=True)
            if axis in self._swept
        ]
        return ", ".join(swept)

    @cached_property
    def settings(self) -> list[tuple[Point, ...]]:
        """The points, those that differ in the folder alone together, in order of the folders."""
        groups: dict[tuple[int, ...], list[Point]] = {}
        for point in self.points.points:
            rest = tuple(level for i, level in enumerate(point.levels) if i != self._place)
            groups.setdefault(rest, []).append(point)
        return [tuple(sorted(g, key=lambda p: p.levels[self._place])) for g in groups.values()]

    def pairs(self, measure: Measure) -> tuple[Pair, ...]:
        """Every point of every folder but the first, against that of the first."""
        if measure.name not in self._pairs:
            self._pairs[measure.name] = tuple(
                self._pair(measure, point, group[0])
                for group in self.settings
                for point in group[1:]
            )
        return self._pairs[measure.name]

    def _pair(self, measure: Measure, point: Point, base: Point) -> Pair:
        with warnings.catch_warnings(), np.errstate(divide="ignore", invalid="ignore"):
            # A base with zeros has resamples without a ratio: `equivalence` leaves these out.
            warnings.filterwarnings("ignore", "The BCa confidence interval cannot be calculated")
            change = measure.change(point, base)
        if change is not None and not measure.is_fair(change, point, base):
            found = Equivalence("undecided", self.margin, None, None, paired=False)
            return Pair(point, base, measure.at(point), measure.at(base), found)
        values, known = measure.by_seed(point), measure.by_seed(base)
        # Optional stopping has used up a part of the error at each look.
        level = self.level / (len(measure.looks.schedule) if measure.looks else 1)
        found = equivalence(values, known, self.margin, level, change)
        return Pair(point, base, measure.at(point), measure.at(base), found)

    def _lacking(self, measure: Measure) -> list[str]:
        """The folders in which no run has a measure."""
        have = {
            self.folder(point)
            for point in self.points.points
            if any(run.run in measure.of_run for run in point.runs)
        }
        return [side.name for side in self.sides if side.name not in have]

    @cached_property
    def _place(self) -> int:
        return next(i for i, axis in enumerate(self.points.axes) if AXIS in axis.paths)

    @cached_property
    def _swept(self) -> list[Axis]:
        rest = [axis for i, axis in enumerate(self.points.axes) if i != self._place]
        return [axis for axis in rest if len(axis.levels) > 1]
