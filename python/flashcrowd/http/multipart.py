"""multipart/byteranges (RFC 9110, 14.6): parts as their bytes come, in any order.

The length of a part is in its Content-Range, so its bytes are not searched for the boundary; what
they hold cannot end a part. Nothing is kept but the line that is being read.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum, auto

from flashcrowd.http.fields import ContentRange

MOST_LINE = 8 << 10
"""The longest line of a part's head, and the longest preamble, in bytes."""
MOST_HEAD = 16 << 10
"""The longest head of a part, in bytes."""

WINDOW = 256
"""Bytes that are searched for the end of a line at a time."""


class Malformed(ValueError):
    """Bytes that are no multipart/byteranges."""


class _State(Enum):
    PREAMBLE = auto()
    HEAD = auto()
    BODY = auto()
    AFTER = auto()
    DELIMITER = auto()
    EPILOGUE = auto()


Piece = tuple[int, memoryview]
"""Where in the file, and the bytes."""


class ByteRanges:
    """Reads a multipart/byteranges body that is fed to it as it comes.

    Args:
        boundary: the boundary, from Content-Type.
        length: bytes of the file, if known; each part must say the same.
    """

    def __init__(self, boundary: bytes, length: int | None = None) -> None:
        self._delimiter = b"--" + boundary
        self.length = length
        """Bytes of the file: as given, else as the first part says; None before."""
        self._state = _State.PREAMBLE
        self._line = bytearray()
        self._room = MOST_LINE
        self._range: ContentRange | None = None
        self._at = 0
        self._left = 0
        self.parts = 0
        """How many parts have begun."""

    @property
    def finished(self) -> bool:
        """Whether the closing boundary has come."""
        return self._state is _State.EPILOGUE

    def feed(self, data: bytes | memoryview) -> Iterator[Piece]:
        """Bytes of the file that are in `data`; they are views of `data`.

        Raises:
            Malformed: this is no multipart/byteranges, or not of this file.
        """
        view = memoryview(data)
        position, end = 0, len(view)
        while position < end:
            if self._state is _State.EPILOGUE:
                break
            if self._state is _State.BODY:
                take = min(self._left, end - position)
                at, self._at, self._left = self._at, self._at + take, self._left - take
                piece = view[position : position + take]
                position += take
                if not self._left:
                    self._state = _State.AFTER
                    self._room = MOST_LINE
                yield at, piece
            else:
                position = self._gather(view, position)

    def _gather(self, view: memoryview, position: int) -> int:
        """Reads a line, or as much of it as there is; gives where it ends."""
        rest = bytes(view[position : position + WINDOW])
        newline = rest.find(b"\n")
        taken = rest if newline < 0 else rest[: newline + 1]
        self._room -= len(taken)
        self._line += taken
        closes = self._line.startswith(self._delimiter + b"--")
        if closes and self._state in (_State.PREAMBLE, _State.DELIMITER):
            # The last line of a body need not end.
            self._state = _State.EPILOGUE
            self._line.clear()
        elif self._room < 0:
            raise Malformed("a head of a part that is too long")
        elif newline >= 0:
            line, self._line = bytes(self._line), bytearray()
            if line.endswith(b"\r\n"):
                self._read(line[:-2])
            elif self._state is not _State.PREAMBLE:
                raise Malformed("a line that does not end in CR LF")
        return position + len(taken)

    def _read(self, line: bytes) -> None:
        if self._state is _State.HEAD:
            self._field(line)
        elif self._state is _State.AFTER:
            if line:
                raise Malformed("a part that is longer than it says")
            self._state = _State.DELIMITER
        elif not line.startswith(self._delimiter):
            if self._state is _State.DELIMITER:
                raise Malformed("a part without its boundary")
        else:
            self._boundary(line[len(self._delimiter) :])

    def _boundary(self, rest: bytes) -> None:
        if rest.startswith(b"--"):
            self._state = _State.EPILOGUE
        elif not rest.strip(b" \t"):
            self._state = _State.HEAD
            self._room = MOST_HEAD
            self._range = None
        elif self._state is _State.DELIMITER:
            raise Malformed("another boundary than Content-Type says")

    def _field(self, line: bytes) -> None:
        if line:
            name, colon, value = line.partition(b":")
            if not colon:
                raise Malformed("a line in the head of a part that is no field")
            if name.lower() == b"content-range":
                if self._range is not None:
                    raise Malformed("a part with two Content-Range")
                self._range = ContentRange.parse(value.decode("latin-1"))
                if self._range is None:
                    raise Malformed("a Content-Range that is none")
            return
        if self._range is None:
            raise Malformed("a part without Content-Range")
        said = self._range.length
        if self.length is not None and said is not None and said != self.length:
            raise Malformed("parts of files of different lengths")
        self.length = self.length if said is None else said
        if self.length is not None and self._range.end > self.length:
            raise Malformed("a part beyond the end of the file")
        self.parts += 1
        self._at = self._range.start
        self._left = self._range.end - self._range.start
        self._state = _State.BODY
