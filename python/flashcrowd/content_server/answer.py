"""The answer to a request for a file, read as it comes: every byte is compared with the file."""

from __future__ import annotations

import re

from flashcrowd.content_server.chunks import Chunks, Wrong
from flashcrowd.http.multipart import ByteRanges
from flashcrowd.http.ranges import Ranges

Piece = tuple[int, int]
"""Where bytes of a file begin and end."""
MOST_HEAD = 1 << 16
_BOUNDARY = re.compile(rb"multipart/byteranges;\s*boundary=\"?([^\"\s;]+)", re.IGNORECASE)


def request(path: str, address: tuple[str, int], *, in_order: bool) -> bytes:
    """What asks for a whole file, in its order or in any, on a connection of its own.

    Args:
        path: of the file.
        address: where the server listens.
        in_order: whether the bytes are to come in the file's order.
    """
    text = f"GET {path} HTTP/1.1\r\nHost: {address[0]}:{address[1]}\r\n"
    if not in_order:
        text += "Range: bytes=0-65535,65536-\r\nPrefer: part-order=any\r\n"
    return f"{text}Connection: close\r\n\r\n".encode()


class Answer:
    """What has come of the answer to such a request.

    Args:
        contents: of the file.
        in_order: whether it was asked for in order.

    Attributes:
        had: what it has brought of the file.
        received: bytes of the file that came.
    """

    def __init__(self, contents: bytes, *, in_order: bool) -> None:
        self.had = Ranges()
        self.received = 0
        self._contents = contents
        self._in_order = in_order
        self._head: bytes | None = b""
        self._chunks: Chunks | None = None
        self._parts: ByteRanges | None = None

    @property
    def missing(self) -> int:
        """Bytes of the file that have not come."""
        return len(self._contents) - self.received

    @property
    def complete(self) -> bool:
        """Whether all of the file has come."""
        return self.received == len(self._contents)

    def feed(self, data: memoryview) -> list[Piece]:
        """What has come next on the connection; what it brought of the file.

        Raises:
            Wrong: it is not what was asked for.
            Malformed: it is no such body.
        """
        if self._head is not None:
            before = len(self._head)
            self._head += bytes(data)
            end = self._head.find(b"\r\n\r\n")
            if end < 0:
                if len(self._head) > MOST_HEAD:
                    raise Wrong("an answer whose head has no end")
                return []
            data = data[end + 4 - before :]
            self._begin(self._head[:end])
            self._head = None
        found: list[Piece] = []
        if not len(data):
            return found
        bodies = self._chunks.feed(data) if self._chunks is not None else iter((data,))
        for body in bodies:
            if self._parts is None:
                found.append(self._keep(self.received, body))
                continue
            for at, piece in self._parts.feed(body):
                found.append(self._keep(at, piece))
        return found

    def _begin(self, head: bytes) -> None:
        status, _, fields = head.partition(b"\r\n")
        wanted = b" 200 " if self._in_order else b" 206 "
        if wanted not in status + b" ":
            raise Wrong(f"{status.decode('latin-1')} in answer to a request")
        lines = {
            name.strip().lower(): value.strip()
            for name, _, value in (line.partition(b":") for line in fields.split(b"\r\n"))
        }
        if lines.get(b"transfer-encoding", b"").lower() == b"chunked":
            self._chunks = Chunks()
        if not self._in_order:
            boundary = _BOUNDARY.match(lines.get(b"content-type", b""))
            if boundary is None or b"preference-applied" not in lines:
                raise Wrong("an answer in another form than the server's order")
            self._parts = ByteRanges(boundary[1], len(self._contents))

    def _keep(self, at: int, piece: memoryview) -> Piece:
        if not self._contents.startswith(piece, at):  # type: ignore[arg-type]
            raise Wrong(f"other bytes than the file has at {at}")
        self.received += len(piece)
        self.had.add(at, at + len(piece))
        if self.had.bytes != self.received:
            raise Wrong(f"bytes at {at} that it has already")
        return at, at + len(piece)
