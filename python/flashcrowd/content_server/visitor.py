"""A client of a content server behind a line: it reads from its socket as fast as the line is.

The server's send buffer and the client's receive buffer are small, so TCP holds the server back
as a slow line would: what has not been read is not sent. Every byte that comes is compared with
the file.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator
from dataclasses import dataclass

from flashcrowd.download.multipart import ByteRanges
from flashcrowd.download.ranges import Ranges

MTU = 1500
SEGMENT = 1448
"""Payload of a packet with the options of Linux; the line carries the whole packet."""
RECEIVE_BUFFER = 1 << 16
"""Of a client's socket, in bytes; the kernel doubles it for its own needs. A larger one would hide
how slow the client is."""
FORGIVEN_S = 0.02
"""A line that was not read for longer than this has lost the time beyond."""
MOST_HEAD = 1 << 16
_BOUNDARY = re.compile(rb"multipart/byteranges;\s*boundary=\"?([^\"\s;]+)", re.IGNORECASE)


class Wrong(Exception):
    """The server has answered what it must not; the text says what."""


@dataclass(frozen=True)
class Visit:
    """Who comes, when, and for what.

    Attributes:
        number: of the client in its server.
        population: the name of its kind.
        host: the name of its host.
        file: number of the file.
        at_s: when it comes.
        leave_s: when it goes at the latest, with its file or without; None for never.
        rate_bps: of its line, packets' headers included.
        in_order: whether it asks for the bytes in order.
    """

    number: int
    population: str
    host: str
    file: int
    at_s: float
    leave_s: float | None
    rate_bps: float
    in_order: bool


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
        """So many bytes were read."""
        self._earned -= count
        self.forgotten = 0.0


class Chunks:
    """The body of an answer in chunks (RFC 9112, 7.1), as it comes."""

    def __init__(self) -> None:
        self._left = 0
        self._line = b""
        self._state = "size"
        self.finished = False
        """Whether the last chunk has come."""

    def feed(self, data: memoryview) -> Iterator[memoryview]:
        """The bytes of chunks that are in `data`; they are views of `data`.

        Raises:
            Wrong: it is no such body.
        """
        at = 0
        while at < len(data) and not self.finished:
            if self._state == "data":
                piece = data[at : at + self._left]
                at += len(piece)
                self._left -= len(piece)
                if not self._left:
                    self._state = "end"
                yield piece
                continue
            found = bytes(data[at : at + 256])
            newline = found.find(b"\n")
            taken = found if newline < 0 else found[: newline + 1]
            at += len(taken)
            self._line += taken
            if len(self._line) > 256:
                raise Wrong("a chunk whose head is too long")
            if newline >= 0:
                line, self._line = self._line.strip(), b""
                self._read(line)

    def _read(self, line: bytes) -> None:
        if self._state == "end" or self._state == "last":
            if line:
                raise Wrong("a chunk that is longer than it says")
            self.finished = self._state == "last"
            self._state = "size"
            return
        try:
            self._left = int(line.partition(b";")[0], 16)
        except ValueError:
            raise Wrong("a chunk without a length") from None
        self._state = "data" if self._left else "last"


class Visitor:
    """A visit that is under way.

    Args:
        visit: what it is.
        address: where the server listens.
        path: of the file.
        contents: of the file.
        now_s: the present instant.
    """

    def __init__(
        self, visit: Visit, address: tuple[str, int], path: str, contents: bytes, now_s: float
    ) -> None:
        self.visit = visit
        self.arrived_s = now_s
        self.left_s: float | None = None
        """When its connection ended."""
        self.had = Ranges()
        """What it has of the file."""
        self.received = 0
        """Bytes of the file that came."""
        self.lost = 0.0
        """Bytes that its line could have carried, had they been read in time."""
        self._contents = contents
        self._line = Line(visit.rate_bps, now_s)
        self._head: bytes | None = b""
        self._chunks: Chunks | None = None
        self._parts: ByteRanges | None = None
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BUFFER)
        # Packets as long as a line's, and not as long as the loopback's.
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, SEGMENT)
        self._socket.settimeout(5.0)
        self._socket.connect(address)
        request = f"GET {path} HTTP/1.1\r\nHost: {address[0]}:{address[1]}\r\n"
        if not visit.in_order:
            request += "Range: bytes=0-65535,65536-\r\nPrefer: part-order=any\r\n"
        self._socket.sendall(f"{request}Connection: close\r\n\r\n".encode())
        self._socket.setblocking(False)

    @property
    def complete(self) -> bool:
        """Whether it has the file."""
        return self.had.bytes == len(self._contents)

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
        self._feed(buffer[:count])
        return not self.complete

    def close(self, now_s: float) -> None:
        """End the connection."""
        self.left_s = now_s
        self._socket.close()

    def _feed(self, data: memoryview) -> None:
        if self._head is not None:
            before = len(self._head)
            self._head += bytes(data)
            end = self._head.find(b"\r\n\r\n")
            if end < 0:
                if len(self._head) > MOST_HEAD:
                    raise Wrong("an answer whose head has no end")
                return
            data = data[end + 4 - before :]
            self._begin(self._head[:end])
            self._head = None
        if not len(data):
            return
        bodies = self._chunks.feed(data) if self._chunks is not None else iter((data,))
        for body in bodies:
            if self._parts is None:
                self._keep(self.received, body)
                continue
            for at, piece in self._parts.feed(body):
                self._keep(at, piece)

    def _begin(self, head: bytes) -> None:
        status, _, fields = head.partition(b"\r\n")
        wanted = b" 200 " if self.visit.in_order else b" 206 "
        if wanted not in status + b" ":
            raise Wrong(f"{status.decode('latin-1')} in answer to a request")
        lines = {
            name.strip().lower(): value.strip()
            for name, _, value in (line.partition(b":") for line in fields.split(b"\r\n"))
        }
        if lines.get(b"transfer-encoding", b"").lower() == b"chunked":
            self._chunks = Chunks()
        if not self.visit.in_order:
            boundary = _BOUNDARY.match(lines.get(b"content-type", b""))
            if boundary is None or b"preference-applied" not in lines:
                raise Wrong("an answer in another form than the server's order")
            self._parts = ByteRanges(boundary[1], len(self._contents))

    def _keep(self, at: int, piece: memoryview) -> None:
        if not self._contents.startswith(piece, at):  # type: ignore[arg-type]
            raise Wrong(f"other bytes than the file has at {at}")
        self.received += len(piece)
        self.had.add(at, at + len(piece))
        if self.had.bytes != self.received:
            raise Wrong(f"bytes at {at} that it has already")
