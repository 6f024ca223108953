"""Where the body of an answer ends (RFC 9112, 6 and 7)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from flashcrowd.http.errors import Broken, Cut
from flashcrowd.http.head import Head, read_fields
from flashcrowd.http.stream import BUFFER, Stream

MOST_BYTES = (1 << 63) - 1
"""The longest file that a system can have."""
MOST_SIZE = 4 << 10
"""The longest line with the size of a chunk, in bytes; extensions are in it."""

_LENGTH = re.compile(r"[0-9]{1,30}", re.ASCII)
_SIZE = re.compile(rb"([0-9A-Fa-f]{1,16})[ \t]*(?:;[^\0\r\n]*)?\r\n")


class End(Enum):
    """How the end of a body is marked."""

    NONE = "there is no body"
    LENGTH = "Content-Length"
    CHUNKS = "the last chunk"
    CLOSE = "the end of the connection"


@dataclass(frozen=True)
class Framing:
    """How long a body is.

    Attributes:
        end: what says that it is over.
        length: its bytes as said by the head, also of one that is not sent (HEAD); None: not said.
    """

    end: End
    length: int | None


def framing(method: str, head: Head) -> Framing:
    """The framing of the body of an answer.

    Raises:
        Broken: its length is ambiguous.
    """
    coding, said = head.fields.get("transfer-encoding"), head.fields.get("content-length")
    length = None if said is None else _length(said)
    if coding is not None:
        if said is not None:
            raise Broken("the server names a length and a transfer coding; only one can be right")
        if head.minor == 0:
            raise Broken("the server names a transfer coding in HTTP/1.0, which has none")
        # RFC 9110, 5.6.1: empty members of a list do not count.
        codings = [it for it in (each.strip(" \t").lower() for each in coding.split(",")) if it]
        if codings != ["chunked"]:
            raise Broken(f"comes in the transfer coding {coding[:40]!r}, which was not asked for")
    if method == "HEAD" or head.status in (204, 304):
        return Framing(End.NONE, length)
    if coding is not None:
        return Framing(End.CHUNKS, None)
    return Framing(End.CLOSE if length is None else End.LENGTH, length)


def _length(text: str) -> int:
    """Content-Length; several that are equal are one (RFC 9110, 8.6)."""
    members = [it.strip(" \t") for it in text.split(",")]
    if not all(_LENGTH.fullmatch(it) for it in members):
        raise Broken(f"the server names a length that is none: {text[:40]!r}")
    lengths = {int(it) for it in members}
    if len(lengths) > 1:
        raise Broken(f"the server names several lengths: {text[:40]!r}")
    length = lengths.pop()
    if length > MOST_BYTES:
        raise Broken(f"the server names a length that is none: {text[:40]!r}")
    return length


def body(stream: Stream, how: Framing) -> Iterator[memoryview]:
    """The bytes of a body, as they come; each piece is good until the next one.

    Raises:
        Broken: it broke off, or is not framed as its head says.
    """
    if how.end is End.LENGTH:
        yield from _counted(stream, how.length or 0)
    elif how.end is End.CHUNKS:
        yield from _chunks(stream)
    elif how.end is End.CLOSE:
        while piece := stream.some(BUFFER):
            yield piece


def _counted(stream: Stream, left: int) -> Iterator[memoryview]:
    while left:
        piece = stream.some(left)
        if not piece:
            raise Cut
        left -= len(piece)
        yield piece


def _chunks(stream: Stream) -> Iterator[memoryview]:
    while True:
        stream.allow()
        match = _SIZE.fullmatch(line := stream.line(MOST_SIZE, "a chunk without a size"))
        size = -1 if match is None else int(match[1], 16)
        if not 0 <= size <= MOST_BYTES:
            raise Broken(f"a chunk without a size: {line[:40]!r}")
        if size == 0:
            read_fields(stream)  # the trailer, which says nothing about the bytes
            return
        yield from _counted(stream, size)
        stream.allow()
        if stream.exactly(2) != b"\r\n":
            raise Broken("a chunk that is longer than it says")
