"""What each point of a study is compared with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from flashcrowd.metrics import CASE
from flashcrowd.report.points import Point, Points


@dataclass(frozen=True)
class Baseline:
    """The levels of some axes with which all other levels are compared, the other axes being equal.

    Attributes:
        points: the points of the study.
        levels: number of an axis to the level of it that is the baseline.
    """

    points: Points
    levels: Mapping[int, int]

    def of(self, point: Point) -> Point | None:
        """The point that `point` is compared with; `None` if it is a baseline itself."""
        wanted = tuple(self.levels.get(i, level) for i, level in enumerate(point.levels))
        if wanted == point.levels:
            return None
        return next(other for other in self.points.points if other.levels == wanted)

    def contexts(self) -> list[tuple[str, list[Point]]]:
        """The points by the levels of the axes that are not compared, each with its name.

        Without such axes there is one context, and it has no name.
        """
        others = self._others
        found: dict[tuple[int, ...], list[Point]] = {}
        for point in self.points.points:
            found.setdefault(tuple(point.levels[i] for i in others), []).append(point)
        return [(self._context(others, levels), members) for levels, members in found.items()]

    @property
    def _others(self) -> list[int]:
        """The swept axes that are not compared."""
        axes = enumerate(self.points.axes)
        return [i for i, axis in axes if i not in self.levels and len(axis.levels) > 1]

    def _context(self, others: Sequence[int], levels: Sequence[int]) -> str:
        axes = [self.points.axes[i] for i in others]
        pairs = zip(axes, levels, strict=True)
        return ", ".join(axis.said(level) for axis, level in pairs)

    def name(self, point: Point) -> str:
        """What tells `point` from others with the same baseline: ``RTT 400 ms``."""
        return self._context(list(self.levels), [point.levels[i] for i in self.levels])

    @property
    def words(self) -> str:
        """The baseline as a caption has it: ``transport libutp, at each queue``."""
        text = self._context(list(self.levels), list(self.levels.values()))
        others = [self.points.axes[i].name for i in self._others]
        return f"{text}, at each {' and '.join(others)}" if others else text

    @property
    def subject(self) -> str:
        """The names of the axes that are compared."""
        return " and ".join(self.points.axes[i].name for i in self.levels)


def baseline(points: Points, wanted: Mapping[str, Any]) -> Baseline | None:
    """The baseline that a study names, or the first level of its first axis.

    Args:
        points: the points of the study.
        wanted: swept path, its end or "case" to value, as `[report] baseline` has it.

    Returns:
        `None` if there is only one point.
    """
    if len(points.points) < 2:
        return None
    levels = {}
    for name, value in wanted.items():
        if name == CASE and not any(axis.cases for axis in points.axes):
            continue  # names of another sweep, as where folders are compared
        number, found = points.chosen(name, value)
        if found:
            levels[number] = found[0]
    if not levels:
        first = next(i for i, axis in enumerate(points.axes) if len(axis.levels) > 1)
        levels = {first: 0}
    return Baseline(points, levels)
