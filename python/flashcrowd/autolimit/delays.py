"""The delays of the last seconds, and their description in words."""

from __future__ import annotations

import statistics
from collections import deque

SPAN_NS = 5 * 10**9
"""Delays are summed up over this time: several ticks of a client's limiter, about ten probes."""
FEWEST = 4
"""Fewer answers within that time say nothing."""
EMPTY_NS = 10_000_000
"""A probe that waited less met no queue: a full packet takes this long at 1.2 Mbit/s."""
FLAT_NS = 30_000_000
"""Below 30 ms of queueing delay a user sees no difference."""
HEAVY_NS = 150_000_000
"""Above this calls and games suffer (ITU-T G.114): the words do not sound good."""
OFTEN = 0.25
"""A queue that is empty for this part of the time empties between bursts."""


class Delays:
    """Delays over the least round trip, in nanoseconds, with their instants."""

    def __init__(self) -> None:
        """None so far."""
        self._heard: deque[tuple[int, int]] = deque()

    def note(self, now: int, delay: int) -> None:
        """A probe was answered."""
        self._heard.append((now, delay))
        while now - self._heard[0][0] > SPAN_NS:
            self._heard.popleft()

    def forget(self) -> None:
        """Another path: what was heard is of no use any more."""
        self._heard.clear()

    @property
    def last(self) -> int | None:
        """The last one."""
        return self._heard[-1][1] if self._heard else None

    @property
    def median(self) -> int | None:
        """The median of the last seconds; None if there are too few."""
        if len(self._heard) < FEWEST:
            return None
        return round(statistics.median(delay for _, delay in self._heard))

    @property
    def longest(self) -> int | None:
        """The longest of the last seconds; None if there are too few."""
        return max(delay for _, delay in self._heard) if len(self._heard) >= FEWEST else None

    def words(self) -> str:
        """The queue of the last seconds in words; empty without enough answers."""
        last, median, longest = self.last, self.median, self.longest
        if last is None or median is None or longest is None:
            return ""
        empty = sum(delay <= EMPTY_NS for _, delay in self._heard) / len(self._heard)
        if median > HEAVY_NS:
            return "a queue stands"
        if last > HEAVY_NS:
            return f"bursts wait {longest / 1e6:.0f} ms"
        if longest <= FLAT_NS:
            return "no added delay"
        return "the queue empties between bursts" if empty >= OFTEN else ""
