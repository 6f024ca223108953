"""A client of the emulation's content servers, before servers of this machine: no network."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from pathlib import Path

import pytest

from flashcrowd.content_server import begin
from flashcrowd.content_server.answer import Piece
from flashcrowd.content_server.visit import Visit
from flashcrowd.emulation.guest import EARLY_BYTES, WAKE_BYTES, Guest
from flashcrowd.emulation.tcp_flow import congested
from flashcrowd.emulation.timetable import Timetable

CONTENTS = bytes(range(251)) * 4000
PATIENCE_S = 20.0


def visit(*, in_order: bool) -> Visit:
    return Visit(0, "all", 0, "client", 0, 0.0, None, 1e9, in_order)


class Played:
    """A client's visit to an address, until it goes."""

    def __init__(self, address: tuple[str, int], *, in_order: bool = False) -> None:
        self.heard: list[Piece] = []
        self.gone: list[Guest] = []
        self.table = Timetable(time.monotonic_ns())
        self.guest = Guest(visit(in_order=in_order), CONTENTS, self.heard.extend, self.gone.append)
        made = congested("cubic")
        self.guest.come(made, address, self.table)
        while not self.gone:
            assert self.table.now() < PATIENCE_S, "it does not end"
            self.table.turn(0.1)
        self.left_s = self.table.now()


@pytest.fixture
def address(tmp_path: Path) -> tuple[str, int]:
    """A content server of this machine."""
    (tmp_path / "0").write_bytes(CONTENTS)
    server = begin({"root": str(tmp_path)}, ["127.0.0.1:0"])
    host, _, port = server.address.rpartition(":")
    return host, int(port)


@pytest.mark.parametrize("in_order", [False, True])
def test_it_gets_the_file_and_goes(address: tuple[str, int], in_order: bool) -> None:
    played = Played(address, in_order=in_order)
    guest = played.guest
    assert played.gone == [guest]
    assert guest.answer.complete
    assert sum(end - begin for begin, end in played.heard) == len(CONTENTS)
    assert guest.answer.received == len(CONTENTS)
    assert (guest.failure, guest.broke_off) == ("", False)


class Answering:
    """Who answers one request with these bytes, in two pieces, and closes."""

    def __init__(self, first: bytes, then: bytes = b"") -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = self._listener.getsockname()
        self._pieces = first, then
        threading.Thread(target=self._answer, daemon=True).start()

    def _answer(self) -> None:
        made, _ = self._listener.accept()
        # Who is not content goes before all is said.
        with made, self._listener, contextlib.suppress(ConnectionError):
            made.recv(4096)
            for piece in self._pieces:
                made.sendall(piece)
                time.sleep(0.2)


HEAD = b"HTTP/1.1 200 OK\r\n\r\n"


def test_a_connection_that_ends_too_early_has_broken_off() -> None:
    played = Played(Answering(HEAD + CONTENTS[:1000]).address, in_order=True)
    assert played.guest.broke_off
    assert played.guest.failure == ""
    assert played.guest.answer.received == 1000


def test_nobody_there_is_a_connection_that_broke_off() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = listener.getsockname()
    assert Played(address).guest.broke_off


def test_other_bytes_than_the_file_s_are_a_failure() -> None:
    played = Played(Answering(HEAD + b"x" * 100).address, in_order=True)
    assert played.guest.failure == "client: other bytes than the file has at 0"
    assert not played.guest.broke_off


@pytest.mark.parametrize("rest", [1, WAKE_BYTES - 1, WAKE_BYTES + 1])
def test_the_last_bytes_wake_it_however_few_they_are(rest: int) -> None:
    length = len(CONTENTS)
    assert length > EARLY_BYTES + 2 * WAKE_BYTES
    answering = Answering(HEAD + CONTENTS[: length - rest], CONTENTS[length - rest :])
    played = Played(answering.address, in_order=True)
    assert played.guest.answer.complete
    # It does not need the end of the connection, which comes 0.2 s later.
    assert played.left_s < 0.39


def test_who_leaves_early_resets_the_connection() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        table = Timetable(time.monotonic_ns())
        gone: list[Guest] = []
        guest = Guest(visit(in_order=True), CONTENTS, lambda _: None, gone.append)
        guest.come(congested("cubic"), listener.getsockname(), table)
        made, _ = listener.accept()
        with made:
            table.turn(PATIENCE_S)
            assert made.recv(4096).startswith(b"GET /0 HTTP/1.1\r\n")
            guest.leave(table)
            guest.leave(table)
            with pytest.raises(ConnectionResetError):
                made.recv(4096)
    assert gone == [guest]
    assert not guest.broke_off
