"""The baseline with which each point of a study is compared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from flashcrowd.base.metrics import CASE
from flashcrowd.report import axis_words, wording
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

    @property
    def words(self) -> str:
        """The baseline as a caption has it: ``transport libutp, at each queue``."""
        axes = self.points.axes
        text = ", ".join(axes[i].said(level) for i, level in self.levels.items())
        others = [it for i, it in enumerate(axes) if i not in self.levels and len(it.levels) > 1]
        if not others:
            return text
        return f"{text}, at {wording.listed([axis_words.each(axis) for axis in others])}"


def baseline(points: Points, wanted: Mapping[str, object]) -> Baseline | None:
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
