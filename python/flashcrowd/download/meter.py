"""How fast bytes come: over the last seconds."""

from __future__ import annotations

from collections import deque

WINDOW_S = 5.0
"""Seconds over which a rate is taken."""
STEP_S = 0.1
"""Time between two samples, in seconds."""


class Meter:
    """The rate of a count that grows, over the last seconds."""

    def __init__(self, now: float) -> None:
        self._samples: deque[tuple[float, int]] = deque([(now, 0)])

    def due(self, now: float) -> bool:
        """Whether it is time for the next sample."""
        return now - self._samples[-1][0] >= STEP_S

    def take(self, now: float, count: int) -> float:
        """A sample; gives the rate, a second."""
        self._samples.append((now, count))
        while len(self._samples) > 2 and now - self._samples[1][0] >= WINDOW_S:
            self._samples.popleft()
        begin, before = self._samples[0]
        return (count - before) / (now - begin) if now > begin else 0.0
