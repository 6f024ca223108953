"""Content servers: the server of `flashcrowd serve` inside of a host, and real clients before it.

The server reads real files behind a disk for trials, as on the loopback; its clients come at the
instants of the simulation, and their lines are those of the emulated network.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from flashcrowd import _core
from flashcrowd._core import Plan
from flashcrowd.base.rows import Row, Rows
from flashcrowd.content_server import begin
from flashcrowd.content_server.answer import Piece
from flashcrowd.content_server.ledger import Ledger
from flashcrowd.content_server.trial_server import contents_of, lost_pace, settings, write
from flashcrowd.content_server.visit import Visit, visits_of
from flashcrowd.emulation.guest import Guest
from flashcrowd.emulation.hosts import Hosts
from flashcrowd.emulation.stack import controller, stack_at
from flashcrowd.emulation.tcp_flow import congested
from flashcrowd.emulation.timetable import Timetable
from flashcrowd.plan.parts import workload
from flashcrowd.plan.types import OriginWorkload

PACES = "paces"
"""What a lab tells beside tables: how well the disks of servers kept their pace."""


class Origin:
    """One content server, and those who come to it.

    Args:
        plan: the plan.
        index: number of the origin among the workloads.
        port: where the server listens.
        seed: the run's.
        rules: what happens to the clients of content servers.
        ended: called when a client has gone, and when the server is stopped.

    Attributes:
        spec: the workload, as the plan has it.
        guests: the clients who have come.
        failure: why the run cannot go on; empty while it can.
    """

    def __init__(
        self,
        plan: Plan,
        index: int,
        port: int,
        seed: int,
        rules: _core.OriginRules,
        ended: Callable[[], None],
    ) -> None:
        self.spec = workload(plan, index, OriginWorkload)
        self.guests: list[Guest] = []
        self.failure = ""
        self._plan = plan
        self._index = index
        self._port = port
        self._rules, self._place = rules, rules.place(index)
        self._ended = ended
        self._visits = visits_of(plan, seed, index)
        self._contents = contents_of(self.spec, seed)
        self._hosts: Hosts | None = None
        self._server: _core.ContentServer | None = None
        self._ledger: Ledger | None = None

    def prepare(self, hosts: Hosts, folder: Path) -> None:
        """Make the files, and have the server listen.

        Args:
            hosts: the hosts of the lab.
            folder: for the files; it is not there yet.

        Raises:
            Unable: the server cannot begin.
            OSError: what the system refused.
        """
        self._hosts = hosts
        folder.mkdir(parents=True)
        write(self._contents, folder)
        # The kernel's own send buffers, which grow with the window, as the stack of the plan says.
        sockets = {"send_buffer_bytes": None, "unsent_bytes": self.spec["unsent_bytes"]}
        with hosts.inside(self.spec["host"]) as place:
            made = settings(self.spec, folder, sockets)
            self._server = begin(made, [f"{place.address}:{self._port}"])
        self._ledger = Ledger(self._server, self._index, self._rules)

    def start(self, table: Timetable) -> None:
        """Have all clients come in time."""
        for visit in self._visits:
            table.at(visit.at_s, lambda visit=visit: self._admit(visit, table))
        ledger = self._ledger
        assert ledger is not None
        table.whenever_due(lambda: ledger.due_s, ledger.look)

    def stop(self, table: Timetable) -> None:
        """No more clients come, and those here leave."""
        self._rules.stop(table.now(), self._place)
        for guest in self.guests:
            guest.leave(table)
        self._ended()

    def cut_off(self, now_s: float) -> None:
        """The run is over: what the server has done by now counts."""
        if self._ledger is not None:
            self._ledger.close(now_s)

    def close(self) -> None:
        """End the server, and what is left of connections."""
        for guest in self.guests:
            guest.close()
        if self._server is not None:
            self._server.stop()
            self._server.stop()  # at once

    @property
    def hosts(self) -> set[int]:
        """The hosts of the server and of its clients, by number."""
        return {self.spec["host"], *(it.host for it in self._visits)}

    def rows(self) -> Rows:
        """Its rows of the tables `downloads`, `origins` and `series`, after `cut_off`."""
        return {} if self._ledger is None else self._ledger.tables()

    def pace(self) -> Row:
        """How well its disk kept its pace, and how many connections broke off."""
        assert self._ledger is not None
        name, policy = self.spec["name"], self.spec["settings"]["scheduling"]["kind"]
        broke_off = sum(it.broke_off for it in self.guests)
        return {"origin": name, "policy": policy, **self._ledger.pace(), "broke_off": broke_off}

    def violations(self) -> list[str]:
        """Why what its server did is no measurement of the plan, in words; nothing if it is."""
        if self._ledger is None:
            return []
        errors = self._ledger.disk_errors
        failed = f"{errors} reads of the files failed" if errors else ""
        found = filter(None, (lost_pace(self._ledger.pace()), failed))
        return [f"origin {self.spec['name']}: {words}" for words in found]

    def _admit(self, visit: Visit, table: Timetable) -> None:
        assert self._hosts is not None
        if not self._rules.come(table.now(), self._place, visit.number):
            return
        remote = self._hosts.places[self.spec["host"]].address, self._port
        stacks = self._plan.stacks
        algorithm = controller(stacks[stack_at(self._plan, self.spec, visit.host)]) or ""
        try:
            with self._hosts.inside(visit.host):
                made = congested(algorithm)
        except OSError as error:
            self.failure = f"origin {self.spec['name']}: {visit.host_name} has no socket: {error}"
            self._ended()
            return

        def read(pieces: list[Piece]) -> None:
            self._rules.receive(table.now(), self._place, visit.number, pieces)

        guest = Guest(visit, self._contents[visit.file], read, lambda it: self._left(it, table))
        self.guests.append(guest)
        guest.come(made, remote, table)
        if visit.leave_s is not None:
            table.at(visit.leave_s, lambda: guest.leave(table))

    def _left(self, guest: Guest, table: Timetable) -> None:
        ends = self._rules.lose if guest.broke_off else self._rules.leave
        ends(table.now(), self._place, guest.visit.number)
        self.failure = self.failure or guest.failure
        if guest.broke_off and self._server is not None and self._server.wait(0.0):
            self.failure = f"origin {self.spec['name']}: the server ended by itself"
        self._ended()
