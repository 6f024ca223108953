"""Users of the web: pages over fresh connections of this kernel's TCP, one after another.

The server answers a request with as many bytes as the user has drawn for that connection; it closes
after the last one. What a page is asked for stands in the first bytes of its request.
"""

from __future__ import annotations

import contextlib
import json
import selectors
import socket
import struct
from collections.abc import Iterator, Mapping
from typing import Any

from flashcrowd import _core
from flashcrowd.emulation.hosts import Hosts
from flashcrowd.emulation.stack import controller
from flashcrowd.emulation.tcp_flow import congested
from flashcrowd.emulation.timetable import Timetable

_ASKED = struct.Struct("!Q")
LEAST_REQUEST = _ASKED.size
"""A request says how long its part of the page is."""
_CONTENT = memoryview(bytes(1 << 18))
_INTO = bytearray(1 << 18)


class Page:
    """What is recorded of a page; instants are seconds of the run, None for what was not."""

    def __init__(self, length: int, start_s: float) -> None:
        self.length = length
        self.start_s = start_s
        self.first_byte_s: float | None = None
        self.end_s: float | None = None
        self.lost_s: float | None = None


class Web:
    """The users of one web workload, and the server at the other end.

    Attributes:
        spec: the workload, as the plan has it.
        users: who fetches pages.
    """

    def __init__(self, plan: Mapping[str, Any], index: int, port: int, seed: int) -> None:
        self.spec = plan["workloads"][index]
        self.port = port
        self.received = 0
        text = json.dumps(plan)
        self.users = [
            User(self, _core.WebUser(text, index, number, seed))
            for number in range(self.spec["users"])
        ]
        own = (self.spec["transport"] or {}).get("tcp")
        ends = (self.spec["from"], self.spec["to"])
        stacks = [plan["network"]["hosts"][end]["stack"] if own is None else own for end in ends]
        self._algorithms = [controller(plan["stacks"][stack]) or "" for stack in stacks]
        self._hosts: Hosts | None = None
        self._server: Server | None = None

    def open(self, hosts: Hosts, table: Timetable) -> None:
        """Have the server listen.

        Raises:
            OSError: what the kernel refused.
        """
        self._hosts = hosts
        with hosts.inside(self.spec["to"]) as place:
            listener = congested(self._algorithms[1])
            listener.bind((place.address, self.port))
            listener.listen(4096)
        self._server = Server(self.spec["request_bytes"], listener, table)

    def start(self, table: Timetable) -> None:
        """Every user asks for the first page in time."""
        for user in self.users:
            table.at(user.draws.start_ns / 1e9, lambda user=user: user.ask(table))
            if self.spec["stop_ns"] is not None:
                table.at(self.spec["stop_ns"] / 1e9, lambda user=user: user.stop(table))

    def stop(self, table: Timetable) -> None:
        """Give up what is under way."""
        for user in self.users:
            user.stop(table)

    def connect(self) -> socket.socket:
        """A connection from the users' host, on its way."""
        assert self._hosts is not None
        with self._hosts.inside(self.spec["from"]):
            made = congested(self._algorithms[0])
        made.connect_ex((self._hosts.places[self.spec["to"]].address, self.port))
        return made

    def rows(self, window: tuple[float, float]) -> Iterator[dict[str, Any]]:
        """Its rows of the table `pages`, of those that were asked for inside of a window."""
        for number, user in enumerate(self.users):
            for index, page in enumerate(user.pages):
                if window[0] <= page.start_s < window[1]:
                    end = page.end_s
                    yield {
                        "web": self.spec["name"],
                        "user": number,
                        "page": index,
                        "bytes": page.length,
                        "start_s": page.start_s,
                        "first_byte_s": page.first_byte_s,
                        "end_s": end,
                        "duration_s": None if end is None else end - page.start_s,
                    }


class User:
    """Fetches a page, reads it for a while, and fetches the next one."""

    def __init__(self, web: Web, draws: _core.WebUser) -> None:
        self.draws = draws
        self.pages: list[Page] = []
        self._web = web
        self._stopped = False
        self._open: dict[socket.socket, int] = {}
        """Connections of the page under way, and what each has still to bring."""

    def ask(self, table: Timetable) -> None:
        """Open the connections of the next page."""
        if self._stopped:
            return
        spec = self._web.spec
        length = self.draws.length()
        self.pages.append(Page(length, table.now()))
        # A page of fewer bytes than connections needs no more of them than it has bytes.
        count = min(spec["connections"], length)
        for number in range(count):
            part = length // count + (number < length % count)
            try:
                made = self._web.connect()
            except OSError:  # no port or descriptor is left: the page fails
                self._lose(table)
                return
            self._open[made] = part
            table.watch(made, selectors.EVENT_WRITE, self._asker(made, part, table))

    def _asker(self, made: socket.socket, part: int, table: Timetable) -> Any:
        request = _ASKED.pack(part) + bytes(self._web.spec["request_bytes"] - _ASKED.size)
        left = memoryview(request)

        def ask(_: int) -> None:
            nonlocal left
            try:
                left = left[made.send(left) :]
            except BlockingIOError:
                return
            except OSError:
                self._lose(table)
                return
            if not left:
                table.watch(made, selectors.EVENT_READ, lambda _: self._read(made, table))

        return ask

    def _read(self, made: socket.socket, table: Timetable) -> None:
        try:
            count = made.recv_into(_INTO)
        except BlockingIOError:
            return
        except OSError:
            self._lose(table)
            return
        page = self.pages[-1]
        if count and page.first_byte_s is None:
            page.first_byte_s = table.now()
        self._open[made] -= count
        self._web.received += count
        if self._open[made] == 0:
            del self._open[made]
            _let_go(made, table)
            if not self._open:
                self._finish(table, complete=True)
        elif count == 0:
            self._lose(table)

    def _lose(self, table: Timetable) -> None:
        """The page under way has lost a connection that had not brought its part."""
        self.pages[-1].lost_s = table.now()
        self._finish(table, complete=False)

    def _finish(self, table: Timetable, *, complete: bool) -> None:
        """The page under way is over: close what is open, and read."""
        if complete:
            self.pages[-1].end_s = table.now()
        for made in self._open:
            with contextlib.suppress(OSError):  # given up: the connection is reset
                made.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("=ii", 1, 0))
            _let_go(made, table)
        self._open = {}
        reading_s = self.draws.reading_ns() / 1e9
        if not self._stopped:
            table.at(table.now() + reading_s, lambda: self.ask(table))

    def stop(self, table: Timetable) -> None:
        """Fetch no more; what is under way is given up."""
        if not self._stopped:
            self._stopped = True
            if self._open:
                self._finish(table, complete=False)


class Server:
    """Answers every request with what it asks for, and closes."""

    def __init__(self, request: int, listener: socket.socket, table: Timetable) -> None:
        self._request = request
        self._listener = listener
        self._table = table
        table.watch(listener, selectors.EVENT_READ, self._accept)

    def _accept(self, _: int) -> None:
        while True:
            try:
                made, _ = self._listener.accept()
            except OSError:
                return
            made.setblocking(False)
            heard = bytearray()
            self._table.watch(made, selectors.EVENT_READ, self._hearer(made, heard))

    def _hearer(self, made: socket.socket, heard: bytearray) -> Any:
        def hear(_: int) -> None:
            try:
                piece = made.recv(self._request - len(heard))
            except BlockingIOError:
                return
            except OSError:
                piece = b""
            if not piece:
                _let_go(made, self._table)
                return
            heard.extend(piece)
            if len(heard) == self._request:
                (part,) = _ASKED.unpack_from(heard)
                self._table.watch(made, selectors.EVENT_WRITE, self._teller(made, part))

        return hear

    def _teller(self, made: socket.socket, part: int) -> Any:
        left = part

        def tell(_: int) -> None:
            nonlocal left
            try:
                while left:
                    left -= made.send(_CONTENT[: min(left, len(_CONTENT))])
            except BlockingIOError:
                return
            except OSError:
                left = 0
            _let_go(made, self._table)

        return tell


def _let_go(made: socket.socket, table: Timetable) -> None:
    table.forget(made)
    made.close()
