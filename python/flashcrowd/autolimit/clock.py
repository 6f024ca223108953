"""Time that only goes forward, and what it hides: sleep, and a clock that was set."""

from __future__ import annotations

import time
from collections.abc import Callable

LATE_NS = 5 * 10**9
"""A loop that wakes up so late was stopped, or its machine was."""
JUMP_NS = 2 * 10**9
"""The wall clock was set if it moved by this much against the monotonic one."""


def _awake_or_not() -> int:
    """Nanoseconds with those of sleep, where the system counts them."""
    which = getattr(time, "CLOCK_BOOTTIME", None)
    return time.clock_gettime_ns(which) if which is not None else time.monotonic_ns()


class Clock:
    """The monotonic clock, watched against the others."""

    def __init__(
        self,
        monotonic: Callable[[], int] = time.monotonic_ns,
        boot: Callable[[], int] = _awake_or_not,
        wall: Callable[[], int] = time.time_ns,
    ) -> None:
        self._monotonic, self._boot, self._wall = monotonic, boot, wall
        self._last = (monotonic(), boot(), wall())

    def now(self) -> int:
        """Nanoseconds since some instant; never goes back."""
        return self._monotonic()

    def look(self) -> tuple[bool, float]:
        """Compare the clocks; gives the changes since the last look.

        Returns:
            Whether time went by unseen (sleep, or a stopped process), and by how many seconds the
            clock on the wall was set.
        """
        now = (self._monotonic(), self._boot(), self._wall())
        monotonic, boot, wall = (new - old for new, old in zip(now, self._last, strict=True))
        self._last = now
        unseen = boot - monotonic > LATE_NS or monotonic > LATE_NS
        # The wall goes on in sleep, so it is held against the clock that does so, too.
        jump = wall - max(boot, monotonic)
        return unseen, jump / 1e9 if abs(jump) > JUMP_NS else 0.0
