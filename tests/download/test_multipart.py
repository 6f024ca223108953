"""multipart/byteranges: the same parts however the stream is cut, and no bytes that do harm."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashcrowd.http.multipart import MOST_HEAD, ByteRanges, Malformed

BOUNDARY = b"fc-6c1d"

PARTS = st.lists(
    st.tuples(st.integers(0, 1 << 40), st.binary(min_size=1, max_size=300)), max_size=8
)


def body(parts: list[tuple[int, bytes]], preamble: bytes = b"", epilogue: bytes = b"\r\n") -> bytes:
    text = preamble
    for index, (at, data) in enumerate(parts):
        text += b"\r\n" if index or preamble else b""
        text += b"--" + BOUNDARY + b"\r\nContent-Type: text/plain\r\n"
        text += b"content-range: bytes %d-%d/*\r\n\r\n" % (at, at + len(data) - 1) + data
    return text + (b"\r\n" if parts or preamble else b"") + b"--" + BOUNDARY + b"--" + epilogue


def cut(text: bytes, seed: int) -> list[bytes]:
    draw, at, pieces = random.Random(seed), 0, []
    longest = draw.choice([1, 3, 40, 1000, len(text) + 1])
    while at < len(text):
        end = at + draw.randint(1, longest)
        pieces.append(text[at:end])
        at = end
    return pieces


def read(pieces: list[bytes], length: int | None = None) -> tuple[list[tuple[int, bytes]], bool]:
    """Parts put together where pieces follow each other, and whether the end came."""
    parser = ByteRanges(BOUNDARY, length)
    parts: list[tuple[int, bytes]] = []
    begun = 0
    for piece in pieces:
        for at, data in parser.feed(piece):
            if parser.parts == begun:
                start, before = parts[-1]
                assert at == start + len(before)
                parts[-1] = (start, before + data)
            else:
                parts.append((at, bytes(data)))
                begun = parser.parts
    return parts, parser.finished


@given(PARTS, st.integers(), st.sampled_from([b"", b"\r\n", b"\r\nwhat comes after", b"x" * 9000]))
def test_parts_are_the_same_however_the_stream_is_cut(parts, seed, epilogue):
    text = body(parts, epilogue=epilogue)
    assert read(cut(text, seed)) == (parts, True)


def test_a_preamble_and_bytes_that_look_like_a_boundary_are_no_parts():
    inside = b"\r\n--" + BOUNDARY + b"--\r\n"
    assert read([body([(7, inside)], preamble=b"hello\nworld\r\n")]) == ([(7, inside)], True)


def test_a_part_of_any_length_is_handed_on_as_it_comes_and_nothing_of_it_is_kept():
    parser, chunk = ByteRanges(BOUNDARY), bytes(1 << 18)
    head = b"--" + BOUNDARY + b"\r\nContent-Range: bytes 0-%d/*\r\n\r\n" % ((1 << 30) - 1)
    assert list(parser.feed(head)) == []
    for start in range(0, 1 << 30, len(chunk)):
        [(at, piece)] = parser.feed(chunk)
        assert (at, len(piece)) == (start, len(chunk))
        assert piece.obj is chunk


@given(st.binary(max_size=2000), st.integers())
def test_any_bytes_are_refused_or_read_the_same_way(text, seed):
    _same_however_cut(b"--" + BOUNDARY + b"\r\n" + text, seed)


@given(PARTS, st.lists(st.tuples(st.integers(0), st.binary(max_size=3)), max_size=4), st.integers())
def test_a_damaged_stream_is_refused_or_read_the_same_way(parts, damages, seed):
    text = body(parts)
    for at, new in damages:
        at %= len(text)
        text = text[:at] + new + text[at + 1 :]
    _same_however_cut(text, seed)


def _same_however_cut(text: bytes, seed: int) -> None:
    seen = []
    for pieces in ([text], cut(text, seed)):
        parser = ByteRanges(BOUNDARY)
        got: dict[int, int] = {}
        count = 0
        try:
            for piece in pieces:
                for at, data in parser.feed(piece):
                    count += len(data)
                    got.update(zip(range(at, at + len(data)), data, strict=True))
                assert len(parser._line) <= MOST_HEAD + 300  # all that is kept
            seen.append((got, count, parser.finished))
        except Malformed as error:
            seen.append((got, count, str(error)))
    assert seen[0] == seen[1]
    assert seen[0][1] <= len(text)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (b"Content-Range: bytes 0-3/10\r\n\r\nabcdX\r\n", "longer than it says"),
        (b"Content-Range: bytes 0-3/10\r\n\r\nabcd\r\nX\r\n", "without its boundary"),
        (
            b"Content-Range: bytes 0-3/10\r\n\r\nabcd\r\n--" + BOUNDARY + b"0\r\n",
            "another boundary",
        ),
        (b"Content-Type: text/plain\r\n\r\nabcd", "without Content-Range"),
        (b"Content-Range: bytes 0-3/11\r\n\r\nabcd", "different lengths"),
        (b"Content-Range: bytes 8-10/*\r\n\r\nabc", "beyond the end"),
        (b"Content-Range: bytes 3-2/10\r\n\r\n", "that is none"),
        (b"Content-Range: bytes 0-%s/*\r\n\r\n" % (b"9" * 5000), "that is none"),
        (
            b"Content-Range: bytes 0-3/10\r\nContent-Range: bytes 0-4/10\r\n\r\n",
            "two Content-Range",
        ),
        (b"no field\r\n\r\n", "no field"),
        (b"Content-Range: bytes 0-3/10\n\n", "CR LF"),
        (b"X: " + b"y" * MOST_HEAD, "too long"),
        (b"X: y\r\n" * (MOST_HEAD // 6 + 1), "too long"),
    ],
)
def test_what_is_wrong_with_a_part_is_said(text: bytes, why: str):
    with pytest.raises(Malformed, match=why):
        read([b"--" + BOUNDARY + b"\r\n" + text], 10)


def test_a_preamble_without_end_is_refused():
    with pytest.raises(Malformed, match="too long"):
        read([b"x" * 9000])
    with pytest.raises(Malformed, match="too long"):
        read([b"x\r\n"] * 9000)


def test_a_stream_that_breaks_off_is_not_finished():
    text = body([(0, b"abcd"), (100, b"efgh")], epilogue=b"")
    for end in range(len(text)):
        assert not read([text[:end]])[1]
    assert read([text])[1]
