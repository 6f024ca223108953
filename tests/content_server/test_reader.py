"""By what `flashcrowd serve` reads: what it says of it, and that it is right."""

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.late import PATIENCE_S

from flashcrowd import _core

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="serve needs Linux")

FREE = [sys.executable, "-m", "flashcrowd"]
CONFINED = [sys.executable, str(Path(__file__).with_name("confined.py"))]
NO_FILTERS = 77
"""The exit status of `confined.py` where it cannot be."""
FORBIDDEN = (
    "forbidden by the sysctl kernel.io_uring_disabled, or by a container's filter of system calls"
)
LENGTH = (3 << 20) + 12_345
"""Extents that are whole, and one that is shorter and ends within a unit of the disk."""


@pytest.fixture
def content(tmp_path: Path) -> bytes:
    """That of the file `file`."""
    content = random.Random(1).randbytes(LENGTH)
    (tmp_path / "file").write_bytes(content)
    return content


@contextmanager
def served(command: list[str], directory: Path, *options: str) -> Iterator[tuple[str, str]]:
    """A server on a free port: where the file is, and how it says that it reads."""
    words = [*command, "serve", str(directory), "--listen", "127.0.0.1:0", *options]
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        try:
            first = server.stderr.readline()
            if not first and server.wait(PATIENCE_S) == NO_FILTERS:
                pytest.skip("the kernel has no filters of system calls")
            found = re.search(r" at (http://\S+/) ", first)
            assert found, first + server.stderr.read()
            yield f"{found[1]}file", server.stderr.readline()
        finally:
            server.kill()


def got(url: str, begin: int, end: int) -> bytes:
    request = urllib.request.Request(url, headers={"Range": f"bytes={begin}-{end - 1}"})
    with urllib.request.urlopen(request, timeout=20) as answer:
        body: bytes = answer.read()
        return body


def none_here(directory: Path) -> str:
    """Why the kernel gives this process no io_uring; nothing if it does."""
    settings = {"root": str(directory), "listen": "127.0.0.1:0", "reader": "io_uring"}
    try:
        server = _core.ContentServer(json.dumps(settings))
    except _core.PlanError as error:
        return str(error)
    server.stop()
    assert server.wait(PATIENCE_S)
    return ""


@pytest.mark.parametrize("reader", ["auto", "io_uring", "threads"])
@pytest.mark.parametrize("option", ["--direct", "--no-direct"])
def test_it_says_by_what_it_reads_and_reads_right(
    reader: str, option: str, tmp_path: Path, content: bytes
) -> None:
    why = none_here(tmp_path)
    if reader == "io_uring" and why:
        pytest.skip(why)
    by = "by threads with pread"
    if reader != "threads":
        by = rf"{by} \(no io_uring: .+\)" if why else "by io_uring"
    how = {
        "--direct": r"(past the page cache \(O_DIRECT\)|through the page cache \(.+\))",
        "--no-direct": r"through the page cache \(as was asked for\)",
    }
    with served(FREE, tmp_path, "--reader", reader, option) as (url, said):
        assert re.fullmatch(rf"Reading {how[option]}, {by}\.\n", said)
        with urllib.request.urlopen(url, timeout=20) as answer:
            assert answer.read() == content
        for begin, end in [(0, 1), (LENGTH - 5, LENGTH), (1_000_000, 2_500_000)]:
            assert got(url, begin, end) == content[begin:end]


def test_where_io_uring_is_forbidden_threads_read(tmp_path: Path, content: bytes) -> None:
    with served(CONFINED, tmp_path) as (url, said):
        assert said.endswith(f", by threads with pread (no io_uring: {FORBIDDEN}).\n")
        assert got(url, 1_000_000, LENGTH) == content[1_000_000:]


def test_where_io_uring_is_forbidden_it_cannot_be_asked_for(tmp_path: Path) -> None:
    words = [*CONFINED, "serve", str(tmp_path), "--listen", "127.0.0.1:0"]
    ended = subprocess.run(
        [*words, "--reader", "io_uring"],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    if ended.returncode == NO_FILTERS:
        pytest.skip("the kernel has no filters of system calls")
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr == (
        "flashcrowd serve: --reader: io_uring is not allowed, auto or threads: "
        f"there is no io_uring here ({FORBIDDEN})\n"
    )
