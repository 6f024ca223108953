"""Servers that send anything: an error in words or a file, within bounds."""

import contextlib
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import flashcrowd
from flashcrowd.download import FetchError


@contextmanager
def sending(answers: list[bytes]) -> Iterator[str]:
    """A server that answers each connection by the next of these bytes, and closes it."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        for answer in answers:
            try:
                connection, _ = listener.accept()
            except OSError:
                break
            with connection:
                try:
                    connection.settimeout(5)
                    connection.recv(65536)
                    connection.sendall(answer)
                except OSError:
                    pass

        listener.close()  # whoever comes then is refused, and does not wait

    thread = threading.Thread(target=serve)
    port = listener.getsockname()[1]
    thread.start()
    try:
        yield f"http://127.0.0.1:{port}/file"
    finally:
        with contextlib.suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
        thread.join()


PATIENCE_S = 30.0
"""For answers that come to an end: a machine with neighbours is late."""

LINES = st.sampled_from(
    [
        b"HTTP/1.1 200 OK", b"HTTP/1.1 206 Partial Content", b"HTTP/1.1 416 No", b"HTTP/1.0 200",
        b"HTTP/1.1 302 Found", b"HTTP/1.1 999 ?", b"Content-Length: 5", b"Content-Length: -5",
        b"Content-Length: 99999999999999999999", b"Transfer-Encoding: chunked", b'ETag: "v"',
        b"Accept-Ranges: bytes", b"Vary: Prefer", b"Content-Range: bytes 0-4/5", b"Location: /file",
        b"Content-Type: multipart/byteranges; boundary=b", b"Content-Encoding: gzip", b"--b", b"",
        b"--b--", b"5", b"abcde", b"0", b"Content-Range: bytes 2-3/5", b"ffffffffffffffffff", b"XY",
        b'Link: <?digests>; rel="describedby"; type="application/json"', b"Location: http://[",
        b"Repr-Digest: sha-256=:AAAA:", b"Connection: close", b"Location: //\xff/",
    ]
)  # fmt: skip
ANSWER = st.lists(LINES, max_size=14).map(b"\r\n".join) | st.binary(max_size=80)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(ANSWER, min_size=1, max_size=4), st.booleans())
def test_any_bytes_end_in_an_error_or_a_file(tmp_path, answers, status):
    if status:
        answers = [b"HTTP/1.1 200 OK\r\n" + it for it in answers]
    target = tmp_path / "file"
    with sending(answers) as url:
        why = ""
        try:
            fetched = flashcrowd.fetch(url, target, tries=1, timeout_s=1.0, overwrite=True)
            assert target.stat().st_size == fetched.bytes
        except FetchError as error:
            why = str(error)
    assert "\n" not in why
    for each in tmp_path.iterdir():
        each.unlink()


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Encoding: gzip\r\n\r\nabc", "encoded"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc", "broke off"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n", "broke off"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\nabc", "length that is none"),
        (b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 50000 + b"\r\n", "head has more than 256 KiB"),
        (b"HTTP/1.1 200 OK\r\nX: " + b"y" * 70000 + b"\r\n\r\n", "a line of more than 64 KiB"),
        (b"HTTP/1.1 103 x\r\n\r\n" * 20000, "head has more than 256 KiB"),
        (b"SSH-2.0-OpenSSH\r\n", "does not speak HTTP/1: 'SSH-2.0-OpenSSH'"),
    ],
)
def test_what_is_wrong_is_said(answer, why, tmp_path):
    with sending([b"HTTP/1.1 405 No\r\nContent-Length: 0\r\n\r\n", answer]) as url:
        with pytest.raises(FetchError, match=why):
            flashcrowd.fetch(url, tmp_path / "file", tries=1, timeout_s=PATIENCE_S)
        assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("repeated", [b"", b"X: y\r\n", b"one and the same part"])
def test_parts_without_end_come_to_an_end(repeated, tmp_path):
    """A server that goes on after its last part, or sends one part again and again."""
    head = b"HTTP/1.1 206 x\r\nContent-Type: multipart/byteranges; boundary=b\r\n"
    head += b'ETag: "v"\r\nConnection: close\r\n\r\n'
    part = b"--b\r\nContent-Range: bytes 0-999/100000\r\n\r\n" + b"x" * 1000 + b"\r\n"
    if repeated == b"one and the same part":
        body = part * 20_000
    else:
        body = part + b"--b--\r\n" + (repeated or b"y") * 5_000_000
    first = b'HTTP/1.1 200 x\r\nAccept-Ranges: bytes\r\nVary: Prefer\r\nETag: "v"\r\n'
    first += b"Content-Length: 100000\r\nConnection: close\r\n\r\n"
    with (
        sending([first, head + body]) as url,
        pytest.raises(FetchError, match="parts without end") as caught,
    ):
        flashcrowd.fetch(url, tmp_path / "file", tries=1)
    assert caught.value.kept == 1000
