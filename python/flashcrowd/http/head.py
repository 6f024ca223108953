"""The head of an answer (RFC 9112, 4 and 5): each line is read, or the answer is refused.

Nothing of a head is left out. A line that is no field has no known meaning, and may contain a
length or a version.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from flashcrowd.http.errors import Broken
from flashcrowd.http.stream import Stream

MOST_LINE = 64 << 10
"""The longest line of a head, in bytes."""
MOST_HEAD = 256 << 10
"""The longest head of an answer with its interim answers, or the longest trailer, in bytes."""
ONCE = ("content-range", "content-type", "date", "etag", "last-modified", "location")
"""Fields that have one value; the same one twice is one."""
DECISIVE = ("content-range", "etag", "last-modified", "location")
"""Of these, two values say nothing."""

_STATUS = re.compile(rb"HTTP/([0-9])\.([0-9]) ([0-9]{3})(?:[ \t][^\0\r]*)?")
_TOKEN = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+")


Lines = list[tuple[bytes, bytearray]]
"""Names in lower case, and values, in the order of their lines."""


@dataclass(frozen=True)
class Head:
    """The head of an answer: the part before its body.

    Attributes:
        minor: of the version: HTTP/1.`minor`.
        status: status code: 0 to 999, but 1xx.
        fields: names in lower case; values as Latin-1, those of one name joined by commas.
    """

    minor: int
    status: int
    fields: dict[str, str]


def read_head(stream: Stream) -> Head:
    """The head of the final answer; interim answers (1xx) are read past.

    Raises:
        Broken: there is none.
    """
    room = MOST_HEAD
    stream.allow()
    while True:
        line = _line(stream, room)
        room -= len(line)
        match = _STATUS.fullmatch(_content(line))
        if match is None:
            raise Broken(f"the server does not speak HTTP/1: {_shown(line)}")
        major, minor, status = (int(it) for it in match.groups())
        if major != 1:
            raise Broken(f"the server speaks HTTP/{major}.{minor}, which was not asked for")
        lines, room = read_fields(stream, room)
        if status == 101:
            raise Broken("the server changes to another protocol (101), which was not asked for")
        if not 100 <= status < 200:
            return Head(minor, status, _merged(lines))


def read_fields(stream: Stream, room: int = MOST_HEAD) -> tuple[Lines, int]:
    """Field lines to the empty line after them, and what is left of `room` bytes.

    Raises:
        Broken: a line is no field, or they are too long.
    """
    lines: Lines = []
    while True:
        whole = _line(stream, room)
        room -= len(whole)
        line = _content(whole)
        if not line:
            return lines, room
        if b"\0" in line or b"\r" in line:
            raise _no_field(line)
        if line[:1] in (b" ", b"\t"):  # folded, as RFC 9112, 5.2 has it
            if not lines:
                raise _no_field(line)
            lines[-1][1].extend(b" " + line.strip(b" \t"))
            continue
        name, colon, value = line.partition(b":")
        # RFC 9112, 5.1: what is blank between name and colon is taken away in answers.
        name = name.rstrip(b" \t")
        if not colon or not _TOKEN.fullmatch(name):
            raise _no_field(line)
        lines.append((name.lower(), bytearray(value.strip(b" \t"))))


def _merged(lines: Lines) -> dict[str, str]:
    values: dict[str, list[str]] = {}
    for name, value in lines:
        values.setdefault(name.decode("ascii"), []).append(value.strip(b" \t").decode("latin-1"))
    for name in ONCE:
        if len(values.get(name, ())) > 1:
            values[name] = list(dict.fromkeys(values[name]))
            if len(values[name]) > 1 and name in DECISIVE:
                raise Broken(f"the server names two different {name}")
    return {name: each[0] if len(each) == 1 else ", ".join(each) for name, each in values.items()}


def _line(stream: Stream, room: int) -> bytes:
    if room < MOST_LINE:
        return stream.line(room, f"the server's head has more than {MOST_HEAD >> 10} KiB")
    return stream.line(
        MOST_LINE, f"the server's head has a line of more than {MOST_LINE >> 10} KiB"
    )


def _content(line: bytes) -> bytes:
    """A line without its end: CR LF, or LF alone (RFC 9112, 2.2)."""
    return line[:-2] if line.endswith(b"\r\n") else line[:-1]


def _no_field(line: bytes) -> Broken:
    return Broken(f"the server's head has a line that is no field: {_shown(line)}")


def _shown(line: bytes) -> str:
    """The beginning of a line, for a person."""
    return repr(line[:60].decode("utf-8", "replace").rstrip("\r\n"))
