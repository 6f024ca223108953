"""Servers and clients that get no processor are told from those that a network slows."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from flashcrowd.content_server import begin
from flashcrowd.content_server.answer import Answer, request
from flashcrowd.emulation import promptness
from flashcrowd.emulation.promptness import Promptness
from flashcrowd.emulation.timetable import Timetable


def watched(until_s: float, meanwhile: Callable[[], object] = lambda: None) -> Promptness:
    """What is seen of so many seconds, in which each turn of the table does something."""
    table, found = Timetable(time.monotonic_ns()), Promptness()
    found.start(table)
    while table.now() < until_s:
        table.turn(0.05)
        meanwhile()
    return found


def test_this_kernel_tells_what_threads_wait() -> None:
    assert promptness.is_known()


def test_a_thread_that_waits_for_what_is_due_is_not_late() -> None:
    found = watched(1.1)
    assert len(found.late) == len(found.wanted) == 1
    assert found.late[0] < 0.5
    assert found.worst() == {"clients_late": found.late[0], "server_wanted": 0.0}


def test_a_thread_that_is_kept_from_it_is_late() -> None:
    found = watched(1.2, lambda: time.sleep(0.1))
    # Something is due 10 ms after each turn, and waits for the other 90.
    assert found.late[0] == pytest.approx(0.9, abs=0.1)


def test_a_long_second_counts_for_several() -> None:
    found = watched(3.1, lambda: time.sleep(3.0))
    assert len(found.late) == 3
    assert min(found.late) > 0.9


def test_the_threads_of_a_content_server_are_seen(tmp_path: Path) -> None:
    contents = bytes(4 << 20)
    (tmp_path / "0").write_bytes(contents)
    server = begin({"root": str(tmp_path)}, ["127.0.0.1:0"])
    host, _, port = server.address.rpartition(":")

    def fetch() -> None:
        answer = Answer(contents, in_order=True)
        with socket.create_connection((host, int(port))) as made:
            made.sendall(request("/0", (host, int(port)), in_order=True))
            while not answer.complete:
                answer.feed(memoryview(made.recv(1 << 16)))

    assert watched(1.1, fetch).wanted[0] > 0


def test_one_second_in_twenty_may_lack_a_processor() -> None:
    found = Promptness()
    found.late, found.wanted = [0.1] * 38 + [0.9] * 2, [0.5] * 38 + [0.99] * 2
    assert found.violations() == []
    found.late, found.wanted = [0.1] * 37 + [0.9] * 3, [0.5] * 37 + [0.99] * 3
    assert found.violations() == [
        "clients of content servers were later than 10 ms for more than 25% of 3 of 40 seconds",
        "a thread of a content server wanted more than 90% of a processor in 3 of 40 seconds",
    ]
