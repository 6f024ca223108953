"""What clients make a server hold: memory and descriptors of a real process."""

from __future__ import annotations

import hashlib
import os
import re
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="serve needs Linux")

MB = 1_000_000


class Server:
    """A running server, and what it holds."""

    def __init__(self, process: subprocess.Popen[str], at: tuple[str, int], metrics: str) -> None:
        self._pid = process.pid
        self.at = at
        self._metrics = metrics

    def memory(self) -> int:
        """Bytes of memory of its own."""
        status = Path(f"/proc/{self._pid}/status").read_text()
        found = re.search(r"^RssAnon:\s*(\d+) kB", status, re.MULTILINE)
        assert found is not None
        return int(found[1]) * 1024

    def descriptors(self) -> int:
        """Files and sockets that it has open."""
        return len(os.listdir(f"/proc/{self._pid}/fd"))

    def metric(self, name: str) -> int:
        """A number of its metrics."""
        with urllib.request.urlopen(self._metrics, timeout=60) as answer:
            found = re.search(rf"^flashcrowd_{name} (\d+)", answer.read().decode(), re.MULTILINE)
        assert found is not None, name
        return int(found[1])

    def pipelined(self, requests: list[str]) -> list[int]:
        """The statuses of the answers to requests on one connection, a hundred at a time."""
        got, seen = bytearray(), 0
        with socket.create_connection(self.at, 60) as connection:
            for begin in range(0, len(requests), 100):
                some = requests[begin : begin + 100]
                heads = [f"{request} HTTP/1.1\r\nHost: x\r\n\r\n" for request in some]
                connection.sendall("".join(heads).encode())
                while seen < begin + len(some):
                    part = connection.recv(1 << 20)
                    assert part, bytes(got[-2000:])
                    # Behind what was counted, a word may be in both parts.
                    fresh = max(0, len(got) - len(b"HTTP/1.1"))
                    got += part
                    seen += got.count(b"HTTP/1.1 ", fresh)
        return [int(status) for status in re.findall(rb"HTTP/1.1 (\d+)", got)]

    def get(self, target: str, *fields: str) -> bytes:
        """The answer to a request on a connection of its own."""
        with socket.create_connection(self.at, 60) as connection:
            head = [f"GET {target} HTTP/1.1", "Host: x", "Connection: close", *fields, "", ""]
            connection.sendall("\r\n".join(head).encode())
            got = bytearray()
            while part := connection.recv(1 << 16):
                got += part
        return bytes(got)


@contextmanager
def served(directory: Path, *options: str) -> Iterator[Server]:
    """A server with little memory for contents, killed at the end."""
    command = [sys.executable, "-m", "flashcrowd", "serve", str(directory)]
    command += ["--listen", "127.0.0.1:0", "--metrics", "127.0.0.1:0", "--memory", "16MiB"]
    with subprocess.Popen([*command, *options], stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        try:
            said = [process.stderr.readline() for _ in range(3)]
            where = re.search(r"http://(\S+):(\d+)/ ", said[0])
            metrics = re.search(r"http\S+/metrics", said[2])
            assert where is not None, said
            assert metrics is not None, said
            yield Server(process, (where[1], int(where[2])), metrics[0])
        finally:
            process.kill()


def sparse(path: Path, length: int) -> Path:
    """A file that takes no room on the disk."""
    with path.open("wb") as file:
        file.truncate(length)
    return path


def test_versions_of_a_file_leave_nothing(tmp_path: Path) -> None:
    file = sparse(tmp_path / "upload", 1 << 40)
    with served(tmp_path) as server:
        server.get("/upload", "Range: bytes=0-0")
        before = server.memory()
        for second in range(200):
            os.utime(file, (second, second))
            assert server.pipelined(["HEAD /upload", "GET /upload?digests"]) == [200, 202]
            if second % 10 == 0:
                server.get("/upload", "Range: bytes=0-0")
                assert server.metric("files") <= 1
        # Tables of a version of this file were 6 MB.
        assert server.memory() - before < 60 * MB
        assert server.descriptors() < 40


def test_files_leave_nothing_when_what_was_read_of_them_goes(tmp_path: Path) -> None:
    for number in range(1000):
        sparse(tmp_path / f"{number}", 1 << 36)
    with served(tmp_path) as server:
        server.get("/0", "Range: bytes=0-0")
        before = server.memory()
        for number in range(1000):
            server.get(f"/{number}", "Range: bytes=0-0")
        # Only those of which something is in memory: 16 extents of a MiB at most.
        assert server.metric("files") <= 16
        assert server.memory() - before < 60 * MB


def test_digests_wait_as_paths_in_a_queue_with_an_end(tmp_path: Path) -> None:
    # The longest first: it would keep all others waiting.
    sparse(tmp_path / "long", 1 << 42)
    for number in range(3000):
        (tmp_path / f"{number}").write_bytes(b"%d" % number)
    with served(tmp_path) as server:
        assert server.pipelined(["GET /long?digests"]) == [202]
        before = server.memory()
        asked = [f"GET /{number}?digests" for number in range(3000)]
        statuses = server.pipelined(asked * 4)
        assert set(statuses) <= {200, 202, 503}
        assert server.metric("digests_waiting") <= 1024
        assert server.metric("digests_bytes") <= 32 << 20
        assert server.memory() - before < 60 * MB
        assert server.descriptors() < 60
        # The others have their turns meanwhile.
        whole = b""
        for _ in range(200):
            whole = server.get("/7?digests")
            if whole.startswith(b"HTTP/1.1 200 "):
                break
            time.sleep(0.1)
        assert whole.endswith(b'"whole":"%s"}' % hashlib.sha256(b"7").hexdigest().encode())


def test_texts_are_held_in_pieces_for_those_who_take_nothing(tmp_path: Path) -> None:
    for number in range(1200):
        (tmp_path / f"{number:05}{'n' * 240}").touch()
    # Digests of 4.4 MB.
    sparse(tmp_path / "large", 1 << 36)
    with served(tmp_path, "--listing") as server, ExitStack() as connections:
        page = server.get("/")
        before = server.memory()
        for _ in range(60):
            connection = connections.enter_context(socket.socket())
            # Before it connects: else the window holds pages, each read from a whole folder.
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            connection.connect(server.at)
            connection.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n" * 50)
        time.sleep(3)
        # A page of its connection, and what the library keeps of it.
        assert server.memory() - before < 60 * 0.2 * MB
        seen: list[bytes] = []
        while True:
            assert len(page) < 66_000
            seen += re.findall(rb'href="\./(\d+)n+"', page)
            more = re.search(rb'rel="next" href="\.(/\?after=[^"]+)"', page)
            if more is None:
                break
            page = server.get(more[1].decode())
    assert seen == [b"%05d" % number for number in range(1200)]
