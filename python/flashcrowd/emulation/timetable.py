"""The lab's own loop: sockets that are ready, and instants that come, in the clock of a run."""

from __future__ import annotations

import heapq
import selectors
import socket
import time
from collections.abc import Callable
from itertools import count
from math import isfinite

Ready = Callable[[int], None]
"""Called with what a socket is ready for: `selectors.EVENT_READ`, `EVENT_WRITE`, or both."""


class Timetable:
    """Calls what is due and what is ready, on one thread.

    Attributes:
        begin_ns: the instant of the monotonic clock at which the run begins.
    """

    def __init__(self, begin_ns: int) -> None:
        self.begin_ns = begin_ns
        self._selector = selectors.DefaultSelector()
        self._due: list[tuple[float, int, Callable[[], None]]] = []
        self._order = count()

    def now(self) -> float:
        """Seconds of the run; negative before it begins."""
        return (time.monotonic_ns() - self.begin_ns) / 1e9

    def at(self, when_s: float, call: Callable[[], None]) -> None:
        """Call something at an instant of the run."""
        heapq.heappush(self._due, (when_s, next(self._order), call))

    def every(self, every_s: float, call: Callable[[], None]) -> None:
        """Call something at fixed intervals, from the begin of the run on."""

        def again(number: int) -> None:
            call()
            # A missed call is not made up for.
            following = max(number + 1, int(self.now() / every_s))
            self.at(following * every_s, lambda: again(following))

        self.at(0.0, lambda: again(0))

    def whenever_due(self, due_s: Callable[[], float], look: Callable[[float], None]) -> None:
        """Call something with the present instant whenever it is due: infinite for never."""
        if isfinite(when_s := due_s()):

            def call() -> None:
                look(self.now())
                self.whenever_due(due_s, look)

            self.at(when_s, call)

    def watch(self, connection: socket.socket, events: int, call: Ready) -> None:
        """Call something whenever a socket is ready for these events, instead of before."""
        if connection.fileno() in self._selector.get_map():
            self._selector.modify(connection, events, call)
        else:
            self._selector.register(connection, events, call)

    def forget(self, connection: socket.socket) -> None:
        """Watch a socket no more."""
        if connection.fileno() in self._selector.get_map():
            self._selector.unregister(connection)

    def turn(self, longest_s: float) -> None:
        """Wait for the next call, at most `longest_s`, and make it."""
        wait = longest_s
        if self._due:
            wait = min(wait, self._due[0][0] - self.now())
        for key, events in self._selector.select(max(0.0, wait)):
            # An earlier call of this turn may have closed it.
            if key.fileobj.fileno() >= 0:  # type: ignore[union-attr]
                key.data(events)
        now = self.now()
        while self._due and self._due[0][0] <= now:
            heapq.heappop(self._due)[2]()
