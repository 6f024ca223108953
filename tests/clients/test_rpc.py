"""Answers over SCGI and at a console: within one time as a whole, and within bounds."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from flashcrowd.client_api import http
from flashcrowd.clients import rpc
from flashcrowd.clients.host_sandbox import HostSandbox
from flashcrowd.clients.rpc import RpcError, Scgi, Telnet


@contextlib.contextmanager
def dripping(path: Path, drop: bytes) -> Iterator[Scgi]:
    """A program that answers drop by drop, as long as it is heard."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()

        def serve() -> None:
            connection = listener.accept()[0]
            with connection, contextlib.suppress(OSError):
                while True:
                    connection.sendall(drop)
                    time.sleep(0.02)

        threading.Thread(target=serve, daemon=True).start()
        yield Scgi(path)


def test_an_answer_that_drips_is_none_when_its_time_is_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rpc, "TIMEOUT_S", 0.4)
    began = time.monotonic()
    with dripping(tmp_path / "socket", b"a") as asked, pytest.raises(RpcError, match="timed out"):
        asked("system.pid")
    assert time.monotonic() - began < 5


def test_an_answer_without_end_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "MOST_BYTES", 1000)
    endless = dripping(tmp_path / "socket", bytes(500))
    with endless as asked, pytest.raises(RpcError, match="without end"):
        asked("system.pid")


@contextlib.contextmanager
def console(answer: Callable[[str], bytes]) -> Iterator[Telnet]:
    """A console that greets, and says something to each line."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()

        def serve() -> None:
            connection = listener.accept()[0]
            with connection, contextlib.suppress(OSError), connection.makefile() as lines:
                connection.sendall(b"Welcome\n")
                for line in lines:
                    connection.sendall(answer(line.strip()))

        threading.Thread(target=serve, daemon=True).start()
        asked = Telnet(HostSandbox("here", "127.0.0.1"), listener.getsockname()[1])
        with contextlib.closing(asked):
            yield asked


def echoed(line: str) -> bytes:
    """What BiglyBT says: it puts what it echoes into brackets."""
    word, _, rest = line.partition(" ")
    return f"[{rest}]\n".encode() if word == "echo" else f"> {line}\n".encode()


def test_a_console_gives_the_answer_to_each_command():
    with console(echoed) as asked:
        assert asked("one").splitlines() == ["Welcome", "> one"]
        assert asked("two").strip() == "> two"


def test_a_console_that_says_nothing_or_too_much_gives_no_answer(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(rpc, "TIMEOUT_S", 0.4)
    with console(lambda line: b"") as asked, pytest.raises(RpcError, match=r"one: .*timed out"):
        asked("one")
    monkeypatch.setattr(http, "MOST_BYTES", 1000)
    with console(lambda line: bytes(5000)) as asked, pytest.raises(RpcError, match="without end"):
        asked("one")
