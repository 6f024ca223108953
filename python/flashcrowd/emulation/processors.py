"""How much of this machine's processors is free, by the kernel's own counts."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

WINDOW_S = 1.0
"""Seconds over which the free share is taken: the start of a run is over within it."""

_STAT = Path("/proc/stat")

Times = tuple[int, int]
"""Free and all ticks of all processors since the machine began."""


def times() -> Times:
    """The kernel's counters (proc_stat(5)).

    Programs that are nice count as free: they make way for a run.
    """
    first = _STAT.read_text().split("\n", 1)[0]
    user, nice, system, idle, iowait, irq, softirq, steal = map(int, first.split()[1:9])
    free = nice + idle + iowait
    return free, free + user + system + irq + softirq + steal


class Processors:
    """The share of the processors' time that was free in the last window that is over.

    Args:
        read: gives free and all ticks.
        clock: seconds of a clock that never goes back.
    """

    def __init__(
        self, read: Callable[[], Times] = times, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._read = read
        self._clock = clock
        self._begin = clock()
        self._before = read()

    def restart(self) -> None:
        """Begin a window: what was free before is of no interest any more."""
        self._begin = self._clock()
        self._before = self._read()

    def free(self) -> float | None:
        """The share, 0 to 1, of a window that is over, after which the next one begins; or None."""
        if self._clock() - self._begin < WINDOW_S:
            return None
        free, everything = (new - old for new, old in zip(self._read(), self._before, strict=True))
        self.restart()
        return free / everything if everything > 0 else None
