"""Bytes of a connection: as lines within bounds, or as they come."""

from __future__ import annotations

import time
from collections.abc import Callable

from flashcrowd.http.errors import Broken, Cut

BUFFER = 256 << 10
"""Bytes that are taken from a connection at a time, at most."""
Receive = Callable[[memoryview, float], int]
"""Puts bytes that have come into a view, and gives how many; 0 at the end, Broken at an instant."""


class Stream:
    """Reads what `receive` gives.

    Args:
        receive: the connection.
        timeout_s: for how long nothing may come, in seconds.
        buffer_bytes: the most that is kept; no line may be longer.
    """

    def __init__(
        self, receive: Receive, timeout_s: float = 60.0, buffer_bytes: int = BUFFER
    ) -> None:
        self._receive = receive
        self._timeout_s = timeout_s
        self._buffer = bytearray(buffer_bytes)
        self._view = memoryview(self._buffer)
        self._at = 0
        self._end = 0
        self._until = 0.0
        self.allow()

    def allow(self) -> None:
        """The next lines have to come within the timeout, all together."""
        self._until = time.monotonic() + self._timeout_s

    @property
    def waiting(self) -> bool:
        """Whether bytes have come that are not read."""
        return self._at < self._end

    def line(self, most: int, longer: str) -> bytes:
        """The next line, with LF at its end.

        Args:
            most: its bytes at most.
            longer: what is wrong with a longer one.

        Raises:
            Broken: it is longer, or has no end.
        """
        most = min(most, len(self._buffer))
        looked = 0
        while True:
            end = self._buffer.find(b"\n", self._at + looked, self._end) + 1
            looked = (end or self._end) - self._at
            if looked > most or (not end and looked == most):
                raise Broken(longer)
            if end:
                line = self._view[self._at : end].tobytes()
                self._at = end
                return line
            if not self._fill():
                raise Cut

    def exactly(self, count: int) -> bytes:
        """The next bytes, a few.

        Raises:
            Cut: there are fewer.
        """
        while self._end - self._at < count:
            if not self._fill():
                raise Cut
        self._at += count
        return self._view[self._at - count : self._at].tobytes()

    def some(self, most: int) -> memoryview:
        """What has come, at most `most` bytes; nothing at the end. Valid until the next call."""
        if self._at == self._end:
            self.allow()
            if not self._fill():
                return self._view[:0]
        begin, self._at = self._at, min(self._end, self._at + most)
        return self._view[begin : self._at]

    def _fill(self) -> bool:
        if self._at:
            rest = self._end - self._at
            self._buffer[:rest] = self._buffer[self._at : self._end]
            self._at, self._end = 0, rest
        count = self._receive(self._view[self._end :], self._until)
        self._end += count
        return count > 0
