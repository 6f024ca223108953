"""`flashcrowd serve` ends when it is asked to, whatever does not answer."""

from __future__ import annotations

import fcntl
import http.client
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path

import pytest
from tests.content_server.confined import NO_FILTERS
from tests.content_server.test_serve import served
from tests.late import PATIENCE_S

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="serve needs Linux")

ROOT = Path(__file__).parents[2]
SLACK = 8.0
"""Seconds that a machine with much other work may take for an end."""
DATA = bytes(range(256)) * 40_000


@contextmanager
def stuck(folder: Path, when: Path, *options: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A server of which reads, and opening the log, are stuck from when there is a file `when`."""
    words = [sys.executable, "-m", "tests.content_server.stuck", str(when), "serve", str(folder)]
    words += ["--listen", "127.0.0.1:0", *options]
    pipe = subprocess.PIPE
    with subprocess.Popen(words, stderr=pipe, text=True, cwd=ROOT) as server:
        assert server.stderr is not None
        try:
            first = server.stderr.readline()
            found = re.search(r"http://(\S+?)/ ", first)
            if found is None and server.wait(PATIENCE_S) == NO_FILTERS:
                pytest.skip("the kernel tells nobody of calls")
            assert found, first + server.stderr.read()
            yield server, found[1]
        finally:
            server.kill()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "served"
    folder.mkdir()
    (folder / "file").write_bytes(DATA)
    return folder


def ask(address: str, length: int = 0) -> int:
    """The status of an answer to a request, and with a field of so many bytes."""
    connection = http.client.HTTPConnection(address, timeout=20)
    connection.request("GET", "/none", headers={"Referer": "\xff" * length})
    status = connection.getresponse().status
    connection.close()
    return status


def await_call(server: subprocess.Popen[str], when: Path) -> None:
    """Waits until a call of the server is stuck."""
    while not when.with_name(f"{when.name}.stuck").exists():
        assert server.poll() is None
        time.sleep(0.01)


def await_refusal(server: subprocess.Popen[str], address: str) -> None:
    """Waits until the server takes nobody in, or has ended."""
    host, port = address.split(":")
    until = time.monotonic() + 30
    while server.poll() is None and time.monotonic() < until:
        try:
            socket.create_connection((host, int(port)), timeout=1).close()
        except OSError:
            return
        time.sleep(0.01)
    assert server.poll() is not None, "it takes connections after a signal"


class Stand:
    """A server on which something does not answer."""

    def __init__(self, server: subprocess.Popen[str], address: str) -> None:
        self.server, self.address = server, address


@contextmanager
def with_a_stuck_log(folder: Path, *options: str) -> Iterator[Stand]:
    """Of the kind of `| logger` that hangs: somebody has the pipe open, and reads nothing."""
    pipe = folder.parent / "log"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        with served(folder, "--access-log", str(pipe), *options) as (server, url):
            address = url.removeprefix("http://")
            assert {ask(address, 2000) for _ in range(120)} == {404}
            yield Stand(server, address)
    finally:
        os.close(reader)


@contextmanager
def with_a_stuck_disk(folder: Path, *options: str) -> Iterator[Stand]:
    when = folder.parent / "when"
    with stuck(folder, when, "--reader", "threads", "--no-direct", *options) as (server, address):
        when.touch()
        host, port = address.split(":")
        with ExitStack() as clients:
            for _ in range(3):
                client = clients.enter_context(socket.create_connection((host, int(port))))
                client.sendall(b"GET /file HTTP/1.1\r\nHost: x\r\n\r\n")
            await_call(server, when)
            yield Stand(server, address)


@contextmanager
def with_a_slow_disk(folder: Path, *options: str) -> Iterator[Stand]:
    """By io_uring where there is one."""
    with served(folder, "--trial-disk", "1000 s, 1 B/s", *options) as (server, url):
        address = url.removeprefix("http://")
        host, port = address.split(":")
        with socket.create_connection((host, int(port))) as client:
            client.sendall(b"GET /file HTTP/1.1\r\nHost: x\r\n\r\n")
            time.sleep(0.5)
            yield Stand(server, address)


@contextmanager
def with_a_stuck_reload(folder: Path, *options: str) -> Iterator[Stand]:
    """What SIGHUP reads anew does not answer."""
    when, log = folder.parent / "when", folder.parent / "log"
    with stuck(folder, when, "--access-log", str(log), *options) as (server, address):
        when.touch()
        server.send_signal(signal.SIGHUP)
        # Two signals of which none was heard yet are one.
        await_call(server, when)
        server.send_signal(signal.SIGHUP)
        assert server.stderr is not None
        assert server.stderr.readline().startswith("Reading ")
        assert server.stderr.readline().startswith("In a browser: ")
        assert server.stderr.readline() == (
            "Not reloaded: what was to be read last time does not answer. "
            "What was there before holds.\n"
        )
        assert ask(address) == 404
        yield Stand(server, address)


@contextmanager
def with_a_stuck_terminal(folder: Path, *options: str) -> Iterator[Stand]:
    """Nobody reads what it says."""
    with served(folder, "--interval", "0.01", *options) as (server, url):
        assert server.stderr is not None
        fcntl.fcntl(server.stderr.fileno(), fcntl.F_SETPIPE_SZ, 4096)
        until = time.monotonic() + 60
        # So much is in the pipe that no line more has room.
        while int.from_bytes(fcntl.ioctl(server.stderr, 0x541B, bytes(4)), sys.byteorder) < 3900:
            assert time.monotonic() < until
            time.sleep(0.05)
        time.sleep(0.2)
        yield Stand(server, url.removeprefix("http://"))


Ending = Callable[..., AbstractContextManager[Stand]]
WAYS: dict[str, Ending] = {
    "log": with_a_stuck_log,
    "disk": with_a_stuck_disk,
    "ring": with_a_slow_disk,
    "reload": with_a_stuck_reload,
    "terminal": with_a_stuck_terminal,
}
ENDING_BY_ONE = (with_a_stuck_log, with_a_stuck_reload)
"""Of these nothing waits for 600 s, so that a server may end by the first signal."""
ways = pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)


@ways
def test_one_signal_ends_it_in_good_time(folder: Path, way: Ending) -> None:
    with way(folder, "--drain", "1") as stand:
        began = time.monotonic()
        stand.server.send_signal(signal.SIGTERM)
        assert stand.server.wait(40) == 0
        assert time.monotonic() - began < 1 + 5 + SLACK


@ways
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_second_signal_ends_it_at_once(folder: Path, way: Ending, number: signal.Signals) -> None:
    with way(folder, "--drain", "600") as stand:
        stand.server.send_signal(number)
        # Two signals of which none was heard yet are one; after the first, nobody may come in.
        await_refusal(stand.server, stand.address)
        began = time.monotonic()
        if stand.server.poll() is None:
            stand.server.send_signal(number)
        status = stand.server.wait(40)
        assert time.monotonic() - began < 1 + SLACK
        if status != 0:
            # The first one was enough; the second came when the server heard none any more.
            assert way in ENDING_BY_ONE
            assert status in (-number, 128 + number)
            assert stand.server.stderr is not None
            assert "Ended: " in stand.server.stderr.read()


def test_lines_that_are_lost_at_the_end_are_told(folder: Path) -> None:
    with with_a_stuck_log(folder, "--drain", "1") as stand:
        stand.server.send_signal(signal.SIGTERM)
        assert stand.server.stderr is not None
        said = stand.server.stderr.read()
        assert re.search(r"Ended: 120 answers, .* \d+ lines of the access log were lost\.\n", said)


def test_a_pipe_that_nobody_reads_is_no_log(folder: Path) -> None:
    """Opening it would wait for a reader, and with it SIGHUP and the end."""
    log = folder.parent / "log"
    with served(folder, "--access-log", str(log)) as (server, url):
        log.unlink()
        os.mkfifo(log)
        server.send_signal(signal.SIGHUP)
        assert server.stderr is not None
        assert server.stderr.readline().startswith("Reading ")
        assert server.stderr.readline().startswith("In a browser: ")
        said = server.stderr.readline()
        assert said.startswith(f"Not reloaded: {log}: a pipe that nobody reads")
        assert ask(url.removeprefix("http://")) == 404


DEAF = """
import ctypes, os, signal, sys, time
from flashcrowd import _core
resort = _core.LastResort(*map(float, sys.argv[1:3]), "Left.")
for number in (signal.SIGINT, signal.SIGTERM):
    signal.signal(number, lambda *_: None)
signal.set_wakeup_fd(resort.fileno(), warn_on_full_buffer=False)
lock = ctypes.create_string_buffer(64)
print("ready", flush=True)
held = ctypes.PyDLL(None).pthread_mutex_lock  # It keeps the interpreter's lock.
held(lock)
held(lock)
"""


@pytest.mark.parametrize(("first", "second", "signals"), [(1, 99, 1), (99, 1, 2)])
def test_the_last_resort_needs_no_interpreter(first: int, second: int, signals: int) -> None:
    words = [sys.executable, "-c", DEAF, str(first), str(second)]
    pipe = subprocess.PIPE
    with subprocess.Popen(words, stdout=pipe, stderr=pipe, text=True) as process:
        timer = threading.Timer(60, process.kill)
        timer.start()
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        time.sleep(0.5)
        for _ in range(signals):
            process.send_signal(signal.SIGTERM)
            time.sleep(0.2)
        said = process.communicate()[1]
        timer.cancel()
        assert (process.returncode, said) == (0, "Left.\n")
