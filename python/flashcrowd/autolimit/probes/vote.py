"""Which reflectors are believed: who dies, answers seldom or tells another delay is dropped."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from statistics import mean, median, stdev

WANTED = 4
"""Reflectors at work at a time; the others are spares."""
MEMORY = 20
"""Probes of a reflector that are remembered: of four at work, at 2.5 a second, half a minute."""
DEAD = 5
"""Lost in a row while others answer: no rate limit for one probe in 1.6 s looks like that."""
LIE_NS = 25_000_000
"""Tolerance of a mean delay over its own base: 25 ms, two full packets at 1 Mbit/s, or ..."""
ERRORS = 6.0
"""... half the common delay, or 6 standard errors, whichever is largest. Clients send in bursts: a
probe meets a long queue or none.
"""
BACK_NS = 600 * 10**9
"""A dropped one is a spare again after this time."""


@dataclass
class _Record:
    base: int | None = None
    heard: deque[int | None] = field(default_factory=lambda: deque(maxlen=MEMORY))
    lies: int = 0
    dropped_at: int | None = None

    def lost_in_a_row(self) -> int:
        count = 0
        for rtt in reversed(self.heard):
            if rtt is not None:
                break
            count += 1
        return count

    def lost(self) -> float:
        return sum(rtt is None for rtt in self.heard) / len(self.heard) if self.heard else 0.0

    def delay(self) -> tuple[float, float] | None:
        """The mean delay over the base, and the standard error of this mean."""
        known = [rtt for rtt in self.heard if rtt is not None]
        if len(known) < MEMORY // 2 or self.base is None:
            return None
        return mean(known) - self.base, stdev(known) / math.sqrt(len(known))


class Vote:
    """The reflectors of a session, by number."""

    def __init__(self, count: int) -> None:
        self._records = [_Record() for _ in range(count)]
        self._at_work = list(range(min(count, WANTED)))
        self._turn = 0

    @property
    def at_work(self) -> list[int]:
        """Those that are asked."""
        return list(self._at_work)

    def next(self) -> int:
        """The reflector of the next probe."""
        self._turn = (self._turn + 1) % len(self._at_work)
        return self._at_work[self._turn]

    def forget(self) -> None:
        """Another path: bases and answers are of no use any more."""
        for record in self._records:
            record.base = None
            record.heard.clear()
            record.lies = 0

    def hear(self, now: int, number: int, rtt: int | None) -> Iterator[tuple[int, str]]:
        """The result of a probe; gives which reflector is dropped because of it, and why."""
        record = self._records[number]
        record.heard.append(rtt)
        if rtt is not None:
            record.base = rtt if record.base is None else min(record.base, rtt)
        if number in self._at_work and (why := self._why(number)) and self._drop(now, number):
            yield number, why

    def _why(self, number: int) -> str:
        record = self._records[number]
        others = [self._records[other] for other in self._at_work if other != number]
        answering = [other for other in others if other.heard and other.heard[-1] is not None]
        # If all are silent, the line has an outage: no reflector is blamed.
        if len(answering) * 2 <= len(others):
            return ""
        if record.lost_in_a_row() >= DEAD:
            return "it does not answer"
        seldom = median(other.lost() for other in others) < 0.1
        if len(record.heard) == MEMORY and record.lost() >= 0.4 and seldom:
            return "it answers some of the probes only"
        if len(others) < 2 or len(record.heard) % 5:
            return ""
        delay, theirs = record.delay(), [d for other in others if (d := other.delay()) is not None]
        if delay is None or len(theirs) < 2:
            return ""
        common = median(mean for mean, _ in theirs)
        error = median(error for _, error in theirs)
        allowed = max(LIE_NS, common / 2, ERRORS * error)
        record.lies = record.lies + 1 if abs(delay[0] - common) > allowed else 0
        return "its delay is not that of the others" if record.lies >= 3 else ""

    def _drop(self, now: int, number: int) -> bool:
        """Puts a spare in its place; without one it goes only if two are left."""
        for record in self._records:
            if record.dropped_at is not None and now - record.dropped_at > BACK_NS:
                record.dropped_at = None
        spares = [
            other
            for other, record in enumerate(self._records)
            if record.dropped_at is None and other not in self._at_work
        ]
        place = self._at_work.index(number)
        if spares:
            self._at_work[place] = spares[0]
        elif len(self._at_work) > 2:
            del self._at_work[place]
        else:
            return False
        self._records[number] = _Record(dropped_at=now)
        return True
