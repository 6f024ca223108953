"""Users of the web: pages over fresh connections of this kernel's TCP, one after another.

The server answers a request with as many bytes as the user has drawn for that connection; it closes
after the last one. The first bytes of the request have that number.
"""

from __future__ import annotations

import contextlib
import selectors
import socket
import struct
from collections.abc import Iterator
from typing import Any

from flashcrowd import _core
from flashcrowd._core import Plan
from flashcrowd.emulation.app import Context, Ruled
from flashcrowd.emulation.stack import controller
from flashcrowd.emulation.tcp_flow import congested
from flashcrowd.emulation.timetable import Timetable
from flashcrowd.plan.parts import workload
from flashcrowd.plan.place import study_place
from flashcrowd.plan.types import Change, WebWorkload

_ASKED = struct.Struct("!Q")
LEAST_REQUEST = _ASKED.size
"""A request says how long its part of the page is."""
_CONTENT = memoryview(bytes(1 << 18))
_INTO = bytearray(1 << 18)


class Webs(Ruled[_core.WebRules]):
    """The users of all web workloads."""

    kind = "web"

    @classmethod
    def refusals(cls, plan: Plan, index: int) -> Iterator[str]:
        """Why pages cannot be played."""
        spec = workload(plan, index, WebWorkload)
        where = study_place("workloads", spec)
        if "utp" in (spec["transport"] or {}):
            yield f"{where}: pages go over the kernel's TCP; give it a TCP stack"
        if spec["request_bytes"] < LEAST_REQUEST:
            yield f"{where}: a request has at least {LEAST_REQUEST} B here; make it larger"

    def __init__(self, context: Context) -> None:
        rules = _core.WebRules(context.plan, context.seed)
        webs = context.workloads(WebWorkload)
        self._webs = {it: Web(rules, it, spec, context) for it, spec in webs}
        super().__init__(rules, self._webs)

    def change(self, change: Change, table: Timetable) -> None:
        """Users who are stopped give up what is under way."""
        if change["kind"] == "stop" and change["workload"] in self._webs:
            self._webs[change["workload"]].stop(table)

    @property
    def payload_bytes(self) -> int:
        """Bytes of pages that have arrived."""
        return self._rules.payload_bytes()

    @property
    def kernels(self) -> set[int]:
        """The hosts of users and servers."""
        return {web.spec[end] for web in self._webs.values() for end in ("from", "to")}


class Web:
    """The users of one web workload, and the server at the other end.

    Attributes:
        spec: the workload, as the plan has it.
    """

    def __init__(
        self, rules: _core.WebRules, index: int, spec: WebWorkload, context: Context
    ) -> None:
        self.spec = spec
        self._hosts, self._port = context.hosts, next(context.ports)
        self._users = [(start_s, User(self, rules, user)) for user, start_s in rules.users(index)]
        plan = context.plan
        own = (spec["transport"] or {}).get("tcp")
        ends = (spec["from"], spec["to"])
        stacks = [plan.network["hosts"][end]["stack"] if own is None else own for end in ends]
        self._algorithms = [controller(plan.stacks[stack]) or "" for stack in stacks]
        self._server: Server | None = None

    def open(self, table: Timetable) -> None:
        """Have the server listen.

        Raises:
            OSError: what the kernel refused.
        """
        with self._hosts.inside(self.spec["to"]) as place:
            listener = congested(self._algorithms[1])
            listener.bind((place.address, self._port))
            listener.listen(4096)
        self._server = Server(self.spec["request_bytes"], listener, table)

    def start(self, table: Timetable) -> None:
        """Every user asks for the first page in time."""
        for start_s, user in self._users:
            table.at(start_s, lambda user=user: user.ask(table))
            if self.spec["stop_ns"] is not None:
                table.at(self.spec["stop_ns"] / 1e9, lambda user=user: user.stop(table))

    def stop(self, table: Timetable) -> None:
        """Give up what is under way."""
        for _, user in self._users:
            user.stop(table)

    def connect(self) -> socket.socket:
        """A connection from the users' host, on its way."""
        with self._hosts.inside(self.spec["from"]):
            made = congested(self._algorithms[0])
        made.connect_ex((self._hosts.places[self.spec["to"]].address, self._port))
        return made


class User:
    """Fetches a page, reads it for a while, and fetches the next one."""

    def __init__(self, web: Web, rules: _core.WebRules, user: int) -> None:
        self._web, self._rules, self._user = web, rules, user
        self._open: dict[socket.socket, int] = {}
        """Connections of the page under way, and what each has still to bring."""

    def ask(self, table: Timetable) -> None:
        """Open the connections of the next page."""
        for part in self._rules.ask(table.now(), self._user) or ():
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
        if count:
            self._rules.receive(table.now(), self._user, count)
        self._open[made] -= count
        if self._open[made] == 0:
            del self._open[made]
            _let_go(made, table)
            if not self._open:
                self._finish(table, self._rules.complete(table.now(), self._user))
        elif count == 0:
            self._lose(table)

    def _lose(self, table: Timetable) -> None:
        """The page under way has lost a connection that had not brought its part."""
        self._finish(table, self._rules.lose(table.now(), self._user))

    def _finish(self, table: Timetable, next_s: float | None) -> None:
        """The page under way is over: close what is open, and ask for the next one in time."""
        for made in self._open:
            with contextlib.suppress(OSError):  # given up: the connection is reset
                made.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("=ii", 1, 0))
            _let_go(made, table)
        self._open = {}
        if next_s is not None:
            table.at(next_s, lambda: self.ask(table))

    def stop(self, table: Timetable) -> None:
        """Fetch no more; what is under way is given up."""
        if self._rules.stop(self._user):
            self._finish(table, None)


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
