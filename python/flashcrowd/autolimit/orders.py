"""Limits that were ordered and not seen in the client since: they may still come."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

HELD_S = 60.0
"""Seconds that a write without an answer may be held up between us and the client."""


@dataclass
class _Order:
    limit: int | None
    at: float
    answered: bool = False
    repeated: bool = False
    """Whether the same limit was written since, so that seeing it says nothing of this one."""


class Orders:
    """The open ones, in the order in which they were written.

    A client carries out what it has answered in this order, soon or late. What was not answered may
    have been lost, or come at any time until `HELD_S` are over.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._open: list[_Order] = []

    def write(self, limit: int | None) -> None:
        """A limit is about to be written; None for no limit."""
        for it in self._open:
            it.repeated = it.repeated or it.limit == limit
        self._open.append(_Order(limit, self._clock()))

    def answered(self) -> None:
        """The client has answered the last one."""
        self._open[-1].answered = True

    def saw(self, limit: int | None) -> None:
        """The client has this limit: all that it answered before is over."""
        seen = [at for at, it in enumerate(self._open) if it.limit == limit and not it.repeated]
        last = seen[-1] if seen else -1
        self._open = [
            it for at, it in enumerate(self._open) if at > last or not (at == last or it.answered)
        ]

    def doubtful(self) -> list[int | None]:
        """Limits that may still come, the last one last."""
        now = self._clock()
        self._open = [it for it in self._open if it.answered or now - it.at < HELD_S]
        return [it.limit for it in self._open]
