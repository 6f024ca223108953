"""Answers over SCGI: within one time as a whole, and within bounds."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from flashcrowd.client_api import http
from flashcrowd.clients import rpc
from flashcrowd.clients.rpc import RpcError, Scgi


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
