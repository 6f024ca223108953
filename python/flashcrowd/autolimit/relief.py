"""Whether the line needs no limit: much is uploaded, no limit holds it, and nothing waits."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from statistics import fmean, pstdev

from flashcrowd.autolimit.delays import FLAT_NS
from flashcrowd.autolimit.session import Status

LOOK_NS = 10**9
"""A look a second."""
LOOKS = 60
"""The number of looks in a row that have to agree."""
LEAST = 50_000
"""Bytes per second: with less a single packet takes as long as a delay that counts."""
ABOVE = 1.5
"""A limit above this multiple of the upload, or none, does not hold the upload."""
STEADY = 0.1
"""A full line has a steady rate: its standard deviation is at most this part of the mean."""


@dataclass(frozen=True)
class _Look:
    at: int
    up: float
    longest: int


class Relief:
    """Hears what a run shows, and ends it when no limit is needed.

    A line that is full and a client that has no more to send look alike from here: the words
    name both.

    Attributes:
        words: why no limit is needed; empty as long as that is not known.
        stop: called once, when no limit is needed.
    """

    def __init__(self) -> None:
        """Nothing is known."""
        self.words = ""
        self.stop: Callable[[], None] = lambda: None
        self._looks: deque[_Look] = deque(maxlen=LOOKS)

    def remark(self, now: int, text: str) -> None:
        """Says nothing about the line."""

    def status(self, now: int, status: Status) -> None:
        """The state; called often."""
        if self.words or (self._looks and now - self._looks[-1].at < LOOK_NS):
            return
        up, longest = status.up, status.longest
        free = status.limit is None or (up is not None and status.limit >= ABOVE * up)
        if up is None or longest is None or up < LEAST or not free or longest > FLAT_NS:
            self._looks.clear()
            return
        self._looks.append(_Look(now, up, longest))
        if len(self._looks) < LOOKS:
            return
        rates = [look.up for look in self._looks]
        if pstdev(rates) > STEADY * fmean(rates):
            return
        longest = max(look.longest for look in self._looks)
        seconds = round((now - self._looks[0].at) / 1e9)
        self.words = (
            f"No limit is needed: for {seconds} s your client sent {fmean(rates) / 1e3:.0f} kB/s "
            f"with no limit in its way, and no probe waited more than {longest / 1e6:.0f} ms. "
            "Your router keeps the queue short by itself (SQM, FQ-CoDel), or your peers take no "
            "more. autolimit stops; start it again if calls or games suffer."
        )
        self.stop()
