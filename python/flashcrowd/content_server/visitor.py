"""A client of a content server behind a line: it reads from its socket as fast as the line is.

The server's send buffer and the client's receive buffer are small, so TCP holds the server back
as a slow line would: what has not been read is not sent.
"""

from __future__ import annotations

import socket
from collections.abc import Callable

from flashcrowd.content_server.answer import Answer, Piece, request
from flashcrowd.content_server.visit import Visit

MTU = 1500
SEGMENT = 1448
"""Payload of a packet with the options of Linux; the line carries the whole packet."""
RECEIVE_BUFFER = 1 << 16
"""Of a client's socket, in bytes; the kernel doubles it for its own needs. A larger one would hide
how slow the client is."""
FORGIVEN_S = 0.02
"""A line that was not read for longer than this has lost the time beyond."""


class Line:
    """How much has come over a line that is never idle: a bucket that forgets what is too old."""

    def __init__(self, rate_bps: float, now_s: float) -> None:
        self.rate = rate_bps / 8 * SEGMENT / MTU
        """Bytes of payload a second."""
        self._then = now_s
        self._earned = 0.0
        self.forgotten = 0.0
        """Bytes that could have come since the last ones did, had it been looked at in time."""

    def room(self, now_s: float) -> int:
        """Bytes that may be read now."""
        span_s = now_s - self._then
        self._earned += span_s * self.rate
        self._then = now_s
        self.forgotten += max(0.0, span_s - FORGIVEN_S) * self.rate
        self._earned = min(self._earned, max(FORGIVEN_S * self.rate, 2.0 * SEGMENT))
        return int(self._earned)

    def take(self, count: int) -> None:
        """Takes bytes that were read from what the line has earned."""
        self._earned -= count
        self.forgotten = 0.0


class Visitor:
    """A visit that is under way.

    Args:
        visit: what it is.
        address: where the server listens.
        path: of the file.
        contents: of the file.
        now_s: the present instant.
        read: called with the bytes of the file that have come.

    Attributes:
        answer: what has come.
        broke_off: whether its connection ended before it had its file.
        lost: bytes that its line could have carried, had they been read in time.
    """

    def __init__(
        self,
        visit: Visit,
        address: tuple[str, int],
        path: str,
        contents: bytes,
        now_s: float,
        read: Callable[[list[Piece]], None],
    ) -> None:
        self.visit = visit
        self.answer = Answer(contents, in_order=visit.in_order)
        self.broke_off = False
        self.lost = 0.0
        self._told = read
        self._line = Line(visit.rate_bps, now_s)
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BUFFER)
        # Packets as long as a line's, and not as long as the loopback's.
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, SEGMENT)
        self._socket.settimeout(5.0)
        self._socket.connect(address)
        self._socket.sendall(request(path, address, in_order=visit.in_order))
        self._socket.setblocking(False)

    def turn(self, now_s: float, buffer: memoryview) -> bool:
        """Read what has come over the line by now; whether it goes on.

        Raises:
            Wrong: what came is not what was asked for.
        """
        room = min(self._line.room(now_s), len(buffer))
        if room < SEGMENT:
            return True
        try:
            count = self._socket.recv_into(buffer, room)
        except BlockingIOError:
            self._line.forgotten = 0.0  # nothing was there to be read
            return True
        except ConnectionError:
            return False
        if not count:
            return False
        if count == room:
            # So much was there that more could have come.
            self.lost += self._line.forgotten
        self._line.take(count)
        self._told(self.answer.feed(buffer[:count]))
        return not self.answer.complete

    def close(self) -> None:
        """End the connection."""
        self._socket.close()
