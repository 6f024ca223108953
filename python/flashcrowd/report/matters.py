"""From which difference on a measure's values are called different: `[report] matters`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from flashcrowd.base import bounds, metrics
from flashcrowd.base.metrics import SHARE, Named
from flashcrowd.base.units import Share


@dataclass(frozen=True)
class Least:
    """The smallest difference that matters: the larger of both.

    Attributes:
        share: of the smaller of the two numbers.
        amount: in the unit of the measure.
    """

    share: float = SHARE
    amount: float = 0.0

    def beside(self, one: float, other: float) -> float:
        """The smallest difference that matters between such numbers."""
        return max(self.share * min(abs(one), abs(other)), self.amount)

    def matters(self, one: float, other: float) -> bool:
        """Whether the difference of two numbers does."""
        return one != other and abs(one - other) >= self.beside(one, other)


def least(asked: Any, named: Named) -> Least:
    """The difference that matters in a measure, by the study, or the usual one for its metric.

    Args:
        asked: `[report] matters` of the resolved study: a share, a table by measure, or nothing.
        named: the measure.
    """
    usual = Least(amount=named.metric.matters)
    if isinstance(asked, str):
        return Least(share=Share(asked).value)
    if not isinstance(asked, Mapping):
        return usual
    found = {str(metrics.parse(str(key))): str(text) for key, text in asked.items()}
    whole = replace(named, of=metrics.workload(named.of))
    of_all = Named(named.metric)
    for name in (named, whole, Named(named.metric, named.statistic), of_all):
        if (text := found.get(str(name))) is not None:
            return Least(*bounds.smallest(text, named.metric))
    return usual
