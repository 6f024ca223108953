"""The reader of answers that clients of both engines have: every byte is compared with the file."""

from __future__ import annotations

import pytest

from flashcrowd.content_server.answer import MOST_HEAD, Answer, request
from flashcrowd.content_server.chunks import Wrong

FILE = bytes(range(100))
LENGTH = b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n"
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
PARTS = (
    b"HTTP/1.1 206 Partial Content\r\nContent-Type: multipart/byteranges; boundary=B\r\n"
    b"Preference-Applied: part-order=any\r\nTransfer-Encoding: chunked\r\n\r\n"
)


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


def part(begin: int, end: int, data: bytes | None = None) -> bytes:
    """A part of the file, as a chunk of its own with its head."""
    head = b"\r\n--B\r\nContent-Range: bytes %d-%d/100\r\n\r\n" % (begin, end - 1)
    return chunk(head + (FILE[begin:end] if data is None else data))


def fed(answer: Answer, text: bytes, step: int) -> list[int]:
    """The bytes of the file that come, in the order in which they do."""
    pieces = (answer.feed(memoryview(text[at : at + step])) for at in range(0, len(text), step))
    return [byte for found in pieces for begin, end in found for byte in range(begin, end)]


@pytest.mark.parametrize("step", [1, 7, 1000])
@pytest.mark.parametrize(
    "text", [LENGTH + FILE, CHUNKED + chunk(FILE[:30]) + chunk(FILE[30:]) + b"0\r\n\r\n"]
)
def test_an_answer_in_order_is_read_in_any_pieces(step: int, text: bytes) -> None:
    answer = Answer(FILE, in_order=True)
    assert (answer.missing, answer.complete) == (100, False)
    assert fed(answer, text, step) == list(range(100))
    assert (answer.missing, answer.complete) == (0, True)


@pytest.mark.parametrize("step", [1, 7, 1000])
def test_parts_come_in_the_server_s_order(step: int) -> None:
    answer = Answer(FILE, in_order=False)
    found = fed(answer, PARTS + part(60, 100) + part(0, 20), step)
    assert found == [*range(60, 100), *range(20)]
    assert (answer.received, answer.missing, answer.complete) == (60, 40, False)
    fed(answer, part(20, 60) + chunk(b"\r\n--B--\r\n") + b"0\r\n\r\n", step)
    assert answer.complete


@pytest.mark.parametrize(
    ("in_order", "text", "said"),
    [
        (True, b"HTTP/1.1 404 Not Found\r\n\r\n", "404 Not Found in answer to a request"),
        (False, LENGTH, "200 OK in answer to a request"),
        (False, PARTS.replace(b"Preference-Applied", b"X"), "another form than the server's"),
        (True, LENGTH + b"\1" + FILE[1:], "other bytes than the file has at 0"),
        (True, LENGTH + FILE + b"x", "other bytes than the file has at 0"),
        (False, PARTS + part(0, 20, FILE[1:21]), "other bytes than the file has at 0"),
        (False, PARTS + part(0, 20) + part(10, 30), "bytes at 10 that it has already"),
        (True, b"x" * (MOST_HEAD + 1), "an answer whose head has no end"),
    ],
)
def test_what_was_not_asked_for_is_said(in_order: bool, text: bytes, said: str) -> None:
    with pytest.raises(Wrong, match=said):
        Answer(FILE, in_order=in_order).feed(memoryview(text))


def test_a_request_says_whether_any_order_will_do() -> None:
    address = ("198.18.0.1", 10_000)
    in_order = request("/3", address, in_order=True)
    assert in_order.startswith(b"GET /3 HTTP/1.1\r\nHost: 198.18.0.1:10000\r\n")
    assert b"Prefer" not in in_order
    assert b"\r\nPrefer: part-order=any\r\n" in request("/3", address, in_order=False)
