"""The body of an answer in chunks (RFC 9112, 7.1)."""

from __future__ import annotations

from collections.abc import Iterator


class Wrong(Exception):
    """The server has answered what it must not; the text says what."""


class Chunks:
    """The body of an answer in chunks, as it comes."""

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
