"""Lines between nodes."""

from __future__ import annotations

import contextlib
import socket
import threading
import time

import pytest

from flashcrowd.emulation.member import line


def test_a_line_that_drips_is_none_when_its_time_is_over() -> None:
    ours, other = socket.socketpair()

    def drip() -> None:
        with other, contextlib.suppress(OSError):
            while True:
                other.sendall(b"a")
                time.sleep(0.02)

    threading.Thread(target=drip, daemon=True).start()
    ours.settimeout(0.3)
    began = time.monotonic()
    with ours, pytest.raises(TimeoutError):
        line(ours)
    assert time.monotonic() - began < 5


def test_a_line_leaves_what_comes_behind_it_and_the_timeout() -> None:
    ours, other = socket.socketpair()
    with ours, other:
        ours.settimeout(5.0)
        other.sendall(b"secret\nrest")
        assert line(ours) == b"secret"
        assert ours.gettimeout() == 5.0
        assert ours.recv(10) == b"rest"
