"""Requests and files as the standards and file systems have them, and not only as browsers do."""

from __future__ import annotations

import os
import re
import socket
import sys
import time
from email.utils import parsedate_to_datetime
from pathlib import Path

import pytest
from tests.content_server.test_bounds import Server, served

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="serve needs Linux")

MIB = 1 << 20


def contents(seed: int, length: int) -> bytes:
    """Bytes that tell two versions of a file apart at every place."""
    return bytes([seed]) * length


def rest(connection: socket.socket) -> bytes:
    """All that comes until the end."""
    got = bytearray()
    while True:
        try:
            part = connection.recv(1 << 20)
        except ConnectionResetError:
            return bytes(got)
        if not part:
            return bytes(got)
        got += part


@pytest.mark.parametrize("target", ["/small", "/large", "/none", "/large?digests"])
def test_a_client_that_shuts_its_half_gets_the_whole_answer(tmp_path: Path, target: str) -> None:
    (tmp_path / "small").write_bytes(b"x")
    (tmp_path / "large").write_bytes(contents(7, 30 * MIB))
    with served(tmp_path) as server:
        for waits in (0.0, 0.2):
            with socket.create_connection(server.at, 60) as connection:
                connection.sendall(f"GET {target} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
                time.sleep(waits)
                connection.shutdown(socket.SHUT_WR)
                time.sleep(0.2)
                head, _, body = rest(connection).partition(b"\r\n\r\n")
            length = re.search(rb"content-length: (\d+)", head, re.IGNORECASE)
            assert length is not None, head
            assert len(body) == int(length[1])
        # Who has gone leaves nothing.
        assert server.metric("downloads") == 0


def test_a_client_that_goes_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "large").write_bytes(contents(7, 64 * MIB))
    with served(tmp_path) as server:
        for _ in range(20):
            with socket.create_connection(server.at, 60) as connection:
                connection.sendall(b"GET /large HTTP/1.1\r\nHost: x\r\n\r\n")
                assert connection.recv(1000)
        for _ in range(100):
            if server.metric("connections") == 0:
                break
            time.sleep(0.1)
        assert server.metric("connections") == 0
        assert server.metric("downloads") == 0


@pytest.mark.parametrize(
    ("host", "status"),
    [("x", 200), ("example.org:8080", 200), ("[::1]:80", 200), ("a%20b", 200)]
    + [(bad, 400) for bad in ["", "a b", '"<x>"', "[::1", "a/b", "u@h", "h:x", "é"]],
)
def test_a_host_that_is_none_is_refused(tmp_path: Path, host: str, status: int) -> None:
    (tmp_path / "file").write_bytes(b"x")
    with served(tmp_path) as server, socket.create_connection(server.at, 60) as connection:
        request = f"GET /file HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
        connection.sendall(request.encode())
        assert rest(connection).startswith(f"HTTP/1.1 {status} ".encode())


@pytest.mark.parametrize(
    ("version", "status"), [("1.0", 200), ("1.1", 200), ("1.2", 400), ("2.0", 400), ("0.9", 400)]
)
def test_a_version_that_is_not_spoken_is_refused(tmp_path: Path, version: str, status: int) -> None:
    (tmp_path / "file").write_bytes(b"x")
    with served(tmp_path) as server, socket.create_connection(server.at, 60) as connection:
        connection.sendall(
            f"GET /file HTTP/{version}\r\nHost: x\r\nConnection: close\r\n\r\n".encode()
        )
        assert f" {status} ".encode() in rest(connection).split(b"\r\n")[0]


@pytest.mark.parametrize("seconds", [-(10**10), -1, 0, 2_000_000_000_000, 253_402_300_800])
def test_a_file_of_any_date_is_served(seconds: int) -> None:
    # Other file systems do not keep such dates.
    directory = Path("/dev/shm") / f"flashcrowd-test-{os.getpid()}"
    directory.mkdir()
    try:
        file = directory / "file"
        file.write_bytes(b"x")
        os.utime(file, (seconds, seconds))
        if file.stat().st_mtime != seconds:
            pytest.skip("the file system does not keep such a date")
        with served(directory) as server:
            for fields in ([], ["If-Modified-Since: Sun, 06 Nov 1994 08:49:37 GMT"]):
                head = server.get("/file", *fields).decode()
                assert head.startswith(("HTTP/1.1 200 ", "HTTP/1.1 304 ")), head
                said = re.search(r"last-modified: (.*)\r", head, re.IGNORECASE)
                date = re.search(r"date: (.*)\r", head, re.IGNORECASE)
                assert said is not None
                assert date is not None
                modified = parsedate_to_datetime(said[1])
                assert modified <= parsedate_to_datetime(date[1])
    finally:
        for left in directory.iterdir():
            left.unlink()
        directory.rmdir()


def slow(server: Server, between: str, file: Path) -> tuple[bytes, int]:
    """What a client gets of a file that changes under way, and how much it should be."""
    with socket.create_connection(server.at, 60) as connection:
        connection.sendall(b"GET /file HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        got = connection.recv(MIB)
        stat = file.stat()
        # Times are as coarse as the kernel's tick.
        time.sleep(0.05)
        if between == "rewrite":
            with file.open("r+b") as open_file:
                open_file.write(contents(2, stat.st_size))
            os.utime(file, ns=(stat.st_atime_ns, stat.st_mtime_ns))
        elif between == "replace":
            other = file.with_name("other")
            other.write_bytes(contents(3, stat.st_size))
            other.replace(file)
        elif between == "remove":
            file.unlink()
        got += rest(connection)
    _, _, body = got.partition(b"\r\n\r\n")
    return body, stat.st_size


def test_a_file_that_is_rewritten_with_its_old_time_is_no_mixture(tmp_path: Path) -> None:
    file = tmp_path / "file"
    for _ in range(3):
        file.write_bytes(contents(1, 64 * MIB))
        with served(tmp_path) as server:
            before = re.search(rb"etag: (.*)\r", server.get("/file", "Range: bytes=0-0"), re.I)
            body, length = slow(server, "rewrite", file)
            assert len(body) < length
            after = re.search(rb"etag: (.*)\r", server.get("/file", "Range: bytes=0-0"), re.I)
            assert before is not None
            assert after is not None
            assert before[1] != after[1]


@pytest.mark.parametrize("between", ["replace", "remove"])
def test_a_file_that_is_replaced_is_sent_to_its_end(tmp_path: Path, between: str) -> None:
    file = tmp_path / "file"
    file.write_bytes(contents(1, 64 * MIB))
    with served(tmp_path) as server:
        body, length = slow(server, between, file)
    assert (len(body), set(body)) == (length, {1})
