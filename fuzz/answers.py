"""Fuzz the reader of `fetch`: an answer gives the right bytes or an error.

    python fuzz/answers.py [--inputs 10000000] [--seed 1]

Each input is an answer with a body that is known. It comes as it is, cut, with one thing in it
that RFC 9112 does not allow, or with bytes changed at random. What the reader makes of the first
three is known beforehand. For the last one a second reader decides, which has the whole message at
once and is written from the grammar. The inputs follow from the seed alone.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
import time
from dataclasses import dataclass

from flashcrowd.http.errors import Broken
from flashcrowd.http.framing import End, body, framing
from flashcrowd.http.head import read_head
from flashcrowd.http.stream import Stream

Read = tuple[bytes, bool] | None
"""The body, and whether it is proven to be whole; None for an error."""

STATUS = [
    b"HTTP/1.1 200 OK", b"HTTP/1.1 200", b"HTTP/1.1 200 ", b"HTTP/1.9 206 \xc3\xa9",
    b"HTTP/1.1 299 x\ty", b"HTTP/1.1 999 ?",
]  # fmt: skip
FIELDS = [
    b"X: y", b"x:", b"X:\ty\t", b"ETag: \"a\"", b"Date : Sat, 21 Nov 2020 10:00:00 GMT",
    b"Folded: a\r\n b", b"Folded: a\n\t\r\n b", b"Server: caf\xc3\xa9 \xff", b"!#$%&'*+.^_`|~: z",
    b"Content-Lengths: 7", b"X-Transfer-Encoding: chunked", b"Trailer: x", b"Connection: close",
    b"Link: <a>;\r\n rel=b, Content-Length: 3", b"x: Transfer-Encoding: chunked", b"X: \x01\x7f",
]  # fmt: skip
INTERIM = [
    b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 103 x\r\nContent-Length: 9\r\n\r\n",
    b"HTTP/1.1 199\n\n", b"HTTP/1.1 102 x\r\nTransfer-Encoding: chunked\r\n\r\n",
]  # fmt: skip
NO_FIELD = [
    b"X-Caf\xc3\xa9: 1", b"no field", b": x", b" x: y", b"a b: c", b"a\x00: b", b"a: \x00",
    b"a: b\rc", b"a\xa0: b", b"\tb", b"(a): b", b"HTTP/1.1 200 OK", b"a: \rb",
]  # fmt: skip
NO_STATUS = [
    b"HTTP/2 200 OK", b"HTTP/0.9 200 OK", b"HTTP/1.1  200 OK", b"HTTP/1.1 20 OK", b"ICY 200 OK",
    b"HTTP/1.1 2000", b"HTTP/1.1 200OK", b"http/1.1 200 OK", b"HTTP/1.1", b"",
    b"HTTP/1.1 \xb2\xb3\xb9", b" HTTP/1.1 200 OK", b"HTTP/1.1 101 Switching",
    b"HTTP/11 200 OK", b"HTTP/1.1 200 a\rb",
]  # fmt: skip
NO_LENGTH = [
    b"%d, %d1", b"+%d", b"-%d", b"0x%x", b"%d.", b"%d,", b",%d", b"%d %d", b"1_%d", b"", b"\xb2%d",
    b"%d;a", b"1%030d", b"%d\r\n 0",
]  # fmt: skip
NO_CODING = [
    b"gzip, chunked", b"chunked, gzip", b"chunked, chunked", b"xchunked", b"chunked;q=1",
    b"identity", b"", b",", b"chunked\x0b", b"chu nked", b'"chunked"', b"chunked\xa0",
    b"chunked\r\n x",
]  # fmt: skip
NO_SIZE = [
    b"0x%x", b"%x_0", b"+%x", b"-%x", b" %x", b"", b"%xg", b"%x;\x00", b"%x\r", b"\xb2%x", b"%017x",
    b"8000000000000000%x"[:16], b"%x a", b"%x\x0b",
]  # fmt: skip
BODIES = [b"0\r\n\r\n", b"\r\n", b"HTTP/1.1 200 OK\r\n\r\n", b"5\r\nabcde\r\n0\r\n\r\n", b"", b"\n"]


@dataclass
class Answer:
    """An answer.

    Attributes:
        text: its bytes.
        body: those of the file.
        end: what says that it is over.
        over: how many bytes of `text` it has; what comes after is of no concern.
    """

    text: bytes
    body: bytes
    end: End
    over: int


def some(draw: random.Random) -> bytes:
    """The bytes of a body."""
    if draw.random() < 0.3:
        return draw.choice(BODIES)
    return draw.randbytes(int(draw.random() ** 3 * 200))


def answer(draw: random.Random, wrong: str = "") -> Answer:
    """An answer that RFC 9112 allows, or one with one thing of a kind that it does not."""
    data = some(draw)
    while wrong in _CHUNKS and not data:
        data = some(draw)
    end = _FRAMED.get(wrong) or draw.choice((End.LENGTH, End.CHUNKS, End.CLOSE))
    status = draw.choice(NO_STATUS if wrong == "status" else STATUS)
    lines = [draw.choice(FIELDS) for _ in range(int(draw.random() * 4))]
    if wrong == "field":
        # Folded lines that follow another are none that are wrong.
        line = draw.choice(NO_FIELD)
        lines.insert(0 if line[:1] in b" \t" else draw.randrange(len(lines) + 1), line)
    at = draw.randrange(len(lines) + 1) if wrong != "field" else len(lines)
    lines[at:at] = _framed(draw, end, len(data), wrong)
    if wrong == "old":
        status = b"HTTP/1.0 200 OK"
    elif not wrong and draw.random() < 0.05:
        status, data, end = draw.choice((b"HTTP/1.1 204 x", b"HTTP/1.1 304 x")), b"", End.NONE
    newline = b"\n" if draw.random() < 0.1 else b"\r\n"
    head = newline.join([status, *lines, b"", b""])
    while draw.random() < 0.2:
        head = draw.choice(INTERIM) + head
    text = head + (chunks(draw, data, wrong) if end is End.CHUNKS else data)
    over = len(text)
    if end is not End.CLOSE and draw.random() < 0.2:
        text += draw.choice(BODIES)
    return Answer(text, data, end, over)


def _framed(draw: random.Random, end: End, count: int, wrong: str) -> list[bytes]:
    name = draw.choice((b"Content-Length:", b"content-length: ", b"CONTENT-LENGTH :\t"))
    length = name + draw.choice((b"%d", b"0%d ", b"%d\t")) % count
    name = draw.choice((b"Transfer-Encoding:", b"transfer-encoding: ", b"Transfer-encoding :"))
    coding = name + draw.choice((b"chunked", b"Chunked\t", b" ,chunked, ", b"CHUNKED"))
    if wrong == "both":
        return [length, coding]
    if wrong == "length":
        form = draw.choice(NO_LENGTH)
        return [
            b"Content-Length: " + (form % ((count,) * form.count(b"%")) if b"%" in form else form)
        ]
    if wrong == "lengths":
        return [length, b"Content-Length: %d" % (count + 1)]
    if wrong == "coding":
        return [name + draw.choice(NO_CODING)]
    if end is End.LENGTH:
        more = draw.random()
        return (
            [length, length]
            if more < 0.1
            else [length + b", %d" % count]
            if more < 0.2
            else [length]
        )
    return [coding] if end is End.CHUNKS else []


def chunks(draw: random.Random, data: bytes, wrong: str = "") -> bytes:
    """A body in chunks."""
    pieces, at = [], 0
    while at < len(data):
        size = draw.randint(1, len(data) - at)
        pieces.append(data[at : at + size])
        at += size
    amiss = draw.randrange(len(pieces) + (wrong == "size")) if wrong in _CHUNKS and pieces else 0
    text = b""
    for index, piece in enumerate([*pieces, b""]):
        size = draw.choice((b"%x", b"%X", b"0%x", b"%x ", b"%x;a=b", b'%x ;a="b;\xff"')) % len(
            piece
        )
        if wrong == "size" and index == amiss:
            form = draw.choice(NO_SIZE)
            size = form % len(piece) if b"%" in form else form
        after = b"\r\n"
        if index == amiss and piece:
            if wrong == "long":
                piece += draw.choice((b"\r", b"x", b"\n"))
            elif wrong == "after":
                after = draw.choice((b"", b"\n", b"\r", b"\r\r\n", b"\n\r"))
        text += size + b"\r\n" + (piece + after if piece else b"")
    if wrong == "trailer":
        text += draw.choice(NO_FIELD) + b"\r\n"
    elif draw.random() < 0.2:
        text += draw.choice((b"A: b\r\n", b'ETag: "x"\r\nContent-Length: 3\r\n', b"a : b\n"))
    return text + b"\r\n"


_CHUNKS = ("size", "long", "after")
_FRAMED: dict[str, End] = dict.fromkeys([*_CHUNKS, "trailer", "old"], End.CHUNKS)
WRONG = ["status", "field", "both", "length", "lengths", "coding", *_FRAMED]
"""Kinds of what RFC 9112 does not allow; some need chunks."""


def read(text: bytes, draw: random.Random) -> Read:
    """What the reader makes of bytes that come in pieces, and then end."""
    view, at, longest = memoryview(text), 0, draw.choice((1, 7, 4096))

    def receive(into: memoryview, until: float) -> int:
        nonlocal at
        piece = view[at : at + min(longest, len(into))]
        into[: len(piece)] = piece
        at += len(piece)
        return len(piece)

    stream = Stream(receive, buffer_bytes=4096)
    try:
        how = framing("GET", read_head(stream))
        return b"".join([bytes(piece) for piece in body(stream, how)]), how.end is not End.CLOSE
    except Broken:
        return None


_HEAD = re.compile(
    rb"HTTP/1\.([0-9]) ([0-9]{3})(?:[ \t][^\r\n\0]*)?\r?\n((?:[^\r\n\0]+\r?\n)*)\r?\n"
)
_BLOCK = re.compile(
    rb"(?:[!#$%&'*+.^_`|~0-9A-Za-z-]+[ \t]*:[^\r\n\0]*\r?\n(?:[ \t][^\r\n\0]*\r?\n)*)*"
)
_CHUNK = re.compile(rb"([0-9A-Fa-f]{1,16})[ \t]*(?:;[^\r\n\0]*)?\r\n")
_TRAILER = re.compile(rb"((?:[^\r\n\0]+\r?\n)*)\r?\n")


def judge(text: bytes) -> Read:
    """The same by the grammar, from the whole message."""
    while True:
        head = _HEAD.match(text)
        if head is None:
            return None
        fields = _named(head[3])
        status = int(head[2])
        if fields is None or status == 101:
            return None
        text = text[head.end() :]
        if not 100 <= status < 200:
            break
    for name in (b"content-range", b"etag", b"last-modified", b"location"):
        if len(set(fields.get(name, []))) > 1:
            return None
    codings, lengths = fields.get(b"transfer-encoding"), fields.get(b"content-length")
    if lengths is not None:
        members = [it.strip(b" \t") for it in b",".join(lengths).split(b",")]
        if not all(re.fullmatch(rb"[0-9]{1,30}", it) for it in members):
            return None
        if len({int(it) for it in members}) > 1 or int(members[0]) >= 1 << 63:
            return None
    if codings is not None:
        if lengths is not None or head[1] == b"0":
            return None
        if not re.fullmatch(rb"(?i)[ \t,]*chunked[ \t,]*", b",".join(codings)):
            return None
    if status in (204, 304):
        return b"", True
    if codings is not None:
        return _unchunked(text)
    if lengths is None:
        return text, False
    count = int(re.split(rb"[ \t]*,", lengths[0])[0])
    return (text[:count], True) if len(text) >= count else None


def _named(block: bytes) -> dict[bytes, list[bytes]] | None:
    if not _BLOCK.fullmatch(block):
        return None
    fields: dict[bytes, list[bytes]] = {}
    for line in re.sub(rb"[ \t]*\r?\n[ \t]+", b" ", block).splitlines():
        name, _, value = line.partition(b":")
        fields.setdefault(name.rstrip(b" \t").lower(), []).append(value.strip(b" \t"))
    return fields


def _unchunked(text: bytes) -> Read:
    data, at = b"", 0
    while size := _CHUNK.match(text, at):
        count, at = int(size[1], 16), size.end()
        if not count:
            trailer = _TRAILER.match(text, at)
            return (data, True) if trailer and _named(trailer[1]) is not None else None
        if text[at + count : at + count + 2] != b"\r\n":
            return None
        data += text[at : at + count]
        at += count + 2
    return None


def mutated(draw: random.Random, text: bytes) -> bytes:
    """Bytes with a few of them changed, gone, or more."""
    new = bytearray(text)
    for _ in range(draw.randint(1, 3)):
        # Most of what decides is in the head.
        at = int(draw.random() ** 2 * (len(new) + 1))
        how = draw.randrange(5)
        if how == 0:
            new[at : at + 1] = draw.randbytes(1)
        elif how == 1:
            del new[at : at + draw.randint(1, 4)]
        elif how == 2:
            new[at:at] = draw.choice(
                (b"\r\n", b"\n", b"\r", b" ", b"\t", b":", b",", b"0", b"\0", b";")
            )
        elif how == 3:
            new[at:at] = draw.choice(FIELDS + NO_FIELD) + b"\r\n"
        else:
            start = draw.randrange(len(new) + 1)
            new[at:at] = new[start : start + draw.randint(1, 20)]
    return bytes(new)


def check(draw: random.Random) -> None:
    """One input.

    Raises:
        AssertionError: the reader takes it for something else than it is.
    """
    kind = draw.random()
    wrong = draw.choice(WRONG) if 0.5 <= kind < 0.75 else ""
    given = answer(draw, wrong)
    text, wanted = given.text, (given.body, given.end is not End.CLOSE)
    if kind < 0.25:
        expected: list[Read] = [wanted]
    elif kind < 0.5:
        text = text[: draw.randrange(given.over)]
        got = read(text, draw)
        assert got is None or not got[1], (text, got)
        assert got is None or given.end is End.CLOSE, (text, got)
        expected = [judge(text)]
    elif wrong:
        expected = [None]
    else:
        text = mutated(draw, text)
        expected = [judge(text)]
    got = read(text, draw)
    assert got in expected, (text, got, expected, wrong)


def main() -> int:
    """Runs it; gives the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--inputs", type=int, default=10_000_000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    draw, begin = random.Random(given.seed), time.monotonic()
    for count in range(1, given.inputs + 1):
        check(draw)
        if count % 100_000 == 0:
            print(f"{count} inputs, {count / (time.monotonic() - begin):.0f} a second", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
