"""When a study that is repeated until it is sure looks at its interval: the schedule.

Studies run by it, and reports know from it how often somebody has looked.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from flashcrowd.base.units import Share

AT_LEAST = 5
"""Runs of a point at the first look, if nobody says otherwise."""

AT_MOST = 100
"""Runs of a point at the last look, if nobody says otherwise."""


@dataclass(frozen=True, slots=True)
class Looks:
    """A rule of stopping: look after so many runs of a point, and stop once the mean is known.

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
