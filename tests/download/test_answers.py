"""Heads and bodies by RFC 9112: the right bytes or an error, never bytes that are not all."""

import random

import pytest
from fuzz.answers import WRONG, answer, check, judge, read
from hypothesis import given
from hypothesis import strategies as st

from flashcrowd.http.errors import Broken
from flashcrowd.http.framing import End, Framing, body, framing
from flashcrowd.http.head import read_head
from flashcrowd.http.stream import Stream

OK = b"HTTP/1.1 200 OK\r\n"


def stream(text: bytes) -> Stream:
    rest = [text]

    def receive(view: memoryview, until: float) -> int:
        piece, rest[0] = rest[0][: len(view)], rest[0][len(view) :]
        view[: len(piece)] = piece
        return len(piece)

    return Stream(receive)


def said(text: bytes, method: str = "GET") -> tuple[Framing, bytes]:
    source = stream(text)
    how = framing(method, read_head(source))
    return how, b"".join(map(bytes, body(source, how)))


@pytest.mark.parametrize(
    ("lines", "fields"),
    [
        (b"ETag: \xff\xfe\r\n", {"etag": "\xff\xfe"}),  # obs-text
        (b"Server: caf\xc3\xa9\r\nA: b\r\n", {"server": "caf\xc3\xa9", "a": "b"}),
        (b"Foo : 1\r\nA: b\r\n", {"foo": "1", "a": "b"}),  # RFC 9112, 5.1
        (b"A: b\r\n c\r\n\t \r\n\td\r\nE: f\r\n", {"a": "b c  d", "e": "f"}),  # 5.2
        (b"A:\r\n b\r\n", {"a": "b"}),
        (b"A: b\nC:d\n", {"a": "b", "c": "d"}),  # 2.2
        (b"A: b\r\nX: y\r\na:c\r\nA:\r\n", {"a": "b, c, ", "x": "y"}),
        (b'ETag: "a"\r\nEtag: "a"\r\n', {"etag": '"a"'}),
        (b"X: y\r\n" * 300, {"x": ", ".join(["y"] * 300)}),
        (b"".join(b"X%d: %d\r\n" % (it, it) for it in range(300)), None),
    ],
)
def test_fields_are_read_to_the_last(lines, fields):
    head = read_head(stream(OK + lines + b"Last: 1\r\n\r\n"))
    assert head.fields.pop("last") == "1"
    assert len(head.fields) == 300 if fields is None else head.fields == fields


@pytest.mark.parametrize(
    "line",
    [
        "X-Café: 1", "no colon", ": no name", "a b: c", "a\0: b", "a: \0", "a: b\rc", "\xa0a: b",
        "a(b): c", "<html>", "HTTP/1.1 200 OK", "a\t b: c",
    ],
)  # fmt: skip
@pytest.mark.parametrize("before", [b"", b"A: b\r\n"])
def test_a_line_that_is_no_field_is_named(line, before):
    text = OK + before + line.encode() + b"\r\nContent-Length: 3\r\n\r\nabc"
    with pytest.raises(Broken, match="a line that is no field: ") as caught:
        said(text)
    assert repr(line) in str(caught.value)


@pytest.mark.parametrize(
    ("long", "lines", "said"),
    [
        (60_000, 1, ""), (66_000, 1, "a line of more than 64 KiB"),
        (60_000, 4, ""), (60_000, 5, "head has more than 256 KiB"),
        (1000, 400, "more than 256 KiB"),
    ],
)  # fmt: skip
def test_heads_are_bounded_by_line_and_in_all(long, lines, said):
    text = OK + (b"A: " + b"x" * long + b"\r\n") * lines + b"\r\n"
    if said:
        with pytest.raises(Broken, match=said):
            read_head(stream(text))
    else:
        assert read_head(stream(text)).status == 200


def test_a_folded_line_without_a_field_before_it_is_no_field():
    with pytest.raises(Broken, match="no field: ' a: b'"):
        said(OK + b" a: b\r\n\r\n")


@pytest.mark.parametrize("name", ["ETag", "Last-Modified", "Location", "Content-Range"])
def test_two_values_where_one_decides_are_an_error(name):
    with pytest.raises(Broken, match=f"two different {name.lower()}"):
        said(OK + f"{name}: a\r\n{name}: b\r\n\r\n".encode())


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (b"HTTP/1.1 200", None),
        (b"HTTP/1.1 200 ", None),
        (b"HTTP/1.1 200 caf\xe9 \xc3\xa9", None),
        (b"HTTP/1.7 200 OK", None),
        (b"HTTP/1.1 999 x", None),
        (b"HTTP/1.1 000 x", None),
        (b"HTTP/2 200 OK", "does not speak HTTP/1: 'HTTP/2 200 OK'"),
        (b"HTTP/2.0 200 OK", "speaks HTTP/2.0"),
        (b"HTTP/1.1 2000 OK", "does not speak"),
        (b"HTTP/1.1 20 OK", "does not speak"),
        (b"HTTP/1.1  200 OK", "does not speak"),
        (b"HTTP/1.1 200OK", "does not speak"),
        (b"HTTP/1.1 \xb2\xb3\xb9", "does not speak"),
        (b"http/1.1 200 OK", "does not speak"),
        (b"ICY 200 OK", "does not speak"),
        (b"", "does not speak"),
        (b"HTTP/1.1 101 Switching Protocols", "changes to another protocol"),
    ],
)
def test_status_lines(line, why):
    text = line + b"\r\nContent-Length: 3\r\n\r\nabc"
    if why is None:
        assert said(text)[1] == b"abc"
    else:
        with pytest.raises(Broken, match=why):
            said(text)


@pytest.mark.parametrize("status", [100, 102, 103, 104, 150, 199])
def test_interim_answers_are_read_past(status):
    interim = b"HTTP/1.1 %d x\r\nLink: </x>\r\nContent-Length: 7\r\n\r\n" % status
    assert said(interim * 30 + OK + b"Content-Length: 3\r\n\r\nabc")[1] == b"abc"


@pytest.mark.parametrize(
    ("fields", "end", "text"),
    [
        (b"Content-Length: 3", End.LENGTH, b"abc"),
        (b"Content-Length: 0003", End.LENGTH, b"abc"),
        (b"Content-Length: 3\r\nContent-Length: 3", End.LENGTH, b"abc"),
        (b"Content-Length: 3 ,\t3, 03", End.LENGTH, b"abc"),
        (b"content-length:\r\n 3", End.LENGTH, b"abc"),
        (b"Transfer-Encoding: chunked", End.CHUNKS, b"3\r\nabc\r\n0\r\n\r\n"),
        (b"Transfer-Encoding: Chunked \t", End.CHUNKS, b"3\r\nabc\r\n0\r\n\r\n"),
        (b"transfer-encoding : ,chunked,", End.CHUNKS, b"003;a=\"b;\"\r\nabc\r\n0\r\nA: b\r\n\r\n"),
        (b"TRANSFER-ENCODING:chunked", End.CHUNKS, b"1\r\na\r\n2 \r\nbc\r\n00;x\r\n\r\n"),
        (b"X: y", End.CLOSE, b"abc"),
    ],
)  # fmt: skip
def test_framings(fields, end, text):
    head = OK + fields + b"\r\n\r\n"
    how, data = said(head + text)
    assert (how.end, data) == (end, b"abc")
    # What comes after is of the next answer.
    if end is not End.CLOSE:
        assert said(head + text + b"more")[1] == b"abc"
    # Cut at each byte it is an error, or bytes that are not taken as proven.
    for cut in range(len(head) + len(text)):
        try:
            how, data = said((head + text)[:cut])
        except Broken:
            continue
        assert how.end is End.CLOSE
        assert cut >= len(head)


@pytest.mark.parametrize(
    ("status", "method"), [(200, "HEAD"), (204, "GET"), (304, "GET"), (204, "HEAD")]
)
def test_answers_without_a_body(status, method):
    text = b"HTTP/1.1 %d x\r\nContent-Length: 3\r\n\r\nHTTP/1.1" % status
    assert said(text, method) == (Framing(End.NONE, 3), b"")


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        *((f"Content-Length: {it}", "length that is none") for it in (
            "-3", "+3", "3.0", "", "0x3", "3 3", "3,", "3;a", "1_0", "²", str(1 << 63), "9" * 5000,
        )),
        ("Content-Length: 3, 4", "several lengths: '3, 4'"),
        ("Content-Length: 3\r\nX: y\r\nContent-Length: 4", "several lengths"),
        *((f"Transfer-Encoding: {it}", "transfer coding") for it in (
            "gzip, chunked", "chunked, gzip", "chunked, chunked", "xchunked", "chunked;q=1",
            "identity", "", "gzip", "chunked\x0b", "chunked\xa0",
        )),
        ("Transfer-Encoding: chunked\r\nContent-Length: 3", "a length and a transfer coding"),
        ("Content-Length: 3\r\nTransfer-Encoding: gzip", "a length and a transfer coding"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_a_framing_that_is_not_sure_is_an_error(fields, why, method):
    with pytest.raises(Broken, match=why):
        said(OK + fields.encode() + b"\r\n\r\n3\r\nabc\r\n0\r\n\r\n", method)


def test_http_1_0_has_no_transfer_codings():
    with pytest.raises(Broken, match=r"in HTTP/1\.0"):
        said(b"HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (b"0x3\r\nabc\r\n0\r\n\r\n", "without a size: b'0x3"),
        (b"0_3\r\nabc\r\n0\r\n\r\n", "without a size"),
        (b"+3\r\nabc\r\n0\r\n\r\n", "without a size"),
        (b"-3\r\nabc\r\n0\r\n\r\n", "without a size"),
        (b" 3\r\nabc\r\n0\r\n\r\n", "without a size"),
        (b"3\nabc\r\n0\r\n\r\n", "without a size"),
        (b"\r\nabc\r\n0\r\n\r\n", "without a size"),
        (b"3 x\r\nabc\r\n0\r\n\r\n", "without a size"),
        (b"8000000000000000\r\nabc", "without a size"),
        (b"00000000000000003\r\nabc\r\n0\r\n\r\n", "without a size"),
        (b"3;" + b"x" * 5000 + b"\r\nabc\r\n0\r\n\r\n", "without a size"),
        (b"3\r\nabcd\r\n0\r\n\r\n", "longer than it says"),
        (b"3\r\nabc\n0\r\n\r\n", "longer than it says"),
        (b"3\r\nabc\r\n0\r\nno field\r\n\r\n", "no field: 'no field'"),
        (b"3\r\nabc\r\n0\r\n" + b"a: b\r\n" * 50000, "more than 256 KiB"),
        (b"3\r\nabc\r\n", "broke off"),
    ],
)
def test_chunks_that_are_none(text, why):
    with pytest.raises(Broken, match=why):
        said(OK + b"Transfer-Encoding: chunked\r\n\r\n" + text)


@given(st.integers(0), st.sampled_from(["", *WRONG]))
def test_an_answer_that_is_cut_anywhere_is_never_whole(seed, wrong):
    draw = random.Random(seed)
    made = answer(draw, wrong)
    for cut in range(made.over):
        got = read(made.text[:cut], draw)
        assert got is None or got == (got[0], False)
    assert judge(made.text) == (None if wrong else (made.body, made.end is not End.CLOSE))


@pytest.mark.parametrize("seed", range(4))
def test_the_fuzz_target_in_short(seed):
    draw = random.Random(seed)
    for _ in range(5000):
        check(draw)
