"""When a study that is repeated until it is sure looks at its interval: the schedule.

Studies run by it, and reports know from it how often there was a look.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from flashcrowd.base.units import Share

AT_LEAST = 5
"""Runs of a point at the first look, by default."""

AT_MOST = 100
"""Runs of a point at the last look, by default."""


@dataclass(frozen=True, slots=True)
class Looks:
    """A stopping rule: look at certain numbers of runs of a point; stop once the mean is known.

    Attributes:
        until: half the width of the interval over the mean, at which a point has enough runs.
        at_least: runs at the first look.
        at_most: runs at the last look, after which a point ends however wide its interval is.
    """

    until: float
    at_least: int = AT_LEAST
    at_most: int = AT_MOST

    @property
    def schedule(self) -> tuple[int, ...]:
        """Runs at each look: each half as many again, so that a look does not come for each run."""
        counts = [self.at_least]
        while counts[-1] < self.at_most:
            counts.append(min(self.at_most, counts[-1] + (counts[-1] + 1) // 2))
        return tuple(counts)

    @classmethod
    def of_study(cls, study: Mapping[str, object]) -> Looks | None:
        """The rule of a resolved study; ``None`` if its repeats are a number."""
        repeats = study.get("repeats")
        if not isinstance(repeats, Mapping):
            return None
        until = Share(str(repeats["until"])).value
        return cls(until, int(repeats["at_least"]), int(repeats["at_most"]))
