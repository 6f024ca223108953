"""The axis along which a study is compared, and the settings of all others in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from flashcrowd.base.metrics import CASE
from flashcrowd.report import axis_words, wording
from flashcrowd.report.headline import Headline
from flashcrowd.report.points import Axis, Point, Points


@dataclass(frozen=True)
class Compared:
    """The axis along which a study is compared, and the settings of all others.

    Attributes:
        headline: the measures that decide.
        number: of the axis.
        baseline: its level with which the others are compared.
        others: numbers of the other axes that are swept.
        settings: levels of these, each with the points along the axis by their level.
    """

    headline: Headline
    number: int
    baseline: int | None
    others: tuple[int, ...]
    settings: dict[tuple[int, ...], dict[int, Point]]

    @classmethod
    def of(cls, headline: Headline, number: int | None = None) -> Compared | None:
        """That of a study, or another axis `number`; `None` if it has a single point."""
        baseline = headline.baseline
        if baseline is None:
            return None
        points = baseline.points
        number = (
            number
            if number is not None
            else max(
                baseline.levels,
                key=lambda i: (
                    axis_words.is_ordered(points.axes[i]),
                    len(points.axes[i].levels),
                    -i,
                ),
            )
        )
        swept = [i for i, axis in enumerate(points.axes) if len(axis.levels) > 1 and i != number]
        settings: dict[tuple[int, ...], dict[int, Point]] = {}
        for point in points.points:
            key = tuple(point.levels[i] for i in swept)
            settings.setdefault(key, {})[point.levels[number]] = point
        return cls(headline, number, baseline.levels.get(number), tuple(swept), settings)

    @property
    def points(self) -> Points:
        """All points of the study."""
        assert self.headline.baseline is not None
        return self.headline.baseline.points

    @property
    def axis(self) -> Axis:
        """The axis of the comparison."""
        return self.points.axes[self.number]

    def named(self, settings: Sequence[tuple[int, ...]], *, again: bool = False) -> str:
        """Settings of the other axes, as a sentence begins with them; empty without such axes.

        Args:
            settings: levels of the other axes.
            again: whether the axes have been named already.
        """
        if not self.others:
            return ""
        every = len(settings) == len(self.settings)
        axes = [self.points.axes[i] for i in self.others]
        if every:
            return in_each(axes)
        used = [sorted({key[i] for key in settings}) for i in range(len(axes))]
        if len(list(product(*used))) != len(settings):
            names = wording.listed([axis.name for axis in axes])
            return f"in {len(settings)} of {len(self.settings)} settings of {names}"
        whole = [sorted({key[i] for key in self.settings}) for i in range(len(axes))]
        said = [
            axis_words.settings(axis, levels, named=again)
            for axis, levels, all_of in zip(axes, used, whole, strict=True)
            if levels != all_of
        ]
        return f"with {wording.listed(said)}"


def in_each(axes: Sequence[Axis]) -> str:
    """All levels of some axes: ``with each home upload queue``, ``in each case``."""
    if len(axes) == 1 and axes[0].cases:
        return f"in each {CASE}"
    return f"with {wording.listed([axis_words.each(axis) for axis in axes])}"
