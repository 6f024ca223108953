"""Pings: real echo requests, which the kernel of the other host answers."""

from __future__ import annotations

import contextlib
import selectors
import socket
import struct

from flashcrowd import _core
from flashcrowd.autolimit.probes.icmp import checksum
from flashcrowd.emulation.app import Context, Datagrams
from flashcrowd.emulation.arrival_stamp import age_s, stamped
from flashcrowd.emulation.timetable import Timetable
from flashcrowd.plan.types import PingWorkload

_HEADERS = 28
"""IP and ICMP, without options."""
LEAST_BYTES = _HEADERS + 8
"""The number of a request is behind its headers."""
_SOL_RAW, _ICMP_FILTER = 255, 1
_REPLY, _REQUEST = 0, 8
_SO_RCVBUFFORCE = 33
"""asm-generic/socket.h: beyond the machine's limit, for who administers the network."""
_BUFFER_BYTES = 16 << 20
"""A packet of 1400 B takes 2304 B of a socket's buffer."""


class Pings(Datagrams[_core.PingRules]):
    """The echo requests of all pings."""

    kind = "ping"
    least_bytes = LEAST_BYTES

    def __init__(self, context: Context) -> None:
        rules = _core.PingRules(context.plan)
        pings = context.workloads(PingWorkload)
        super().__init__(rules, {it: Echo(rules, it, spec, context) for it, spec in pings})

    @property
    def echoes(self) -> dict[int, list[tuple[float, float | None]]]:
        """Of each request when it was sent, and how long its answer took, by workload."""
        return {index: self._rules.echoes(index) for index in self._players}


class Echo:
    """The echo requests of one ping: its socket, in the asking host."""

    def __init__(
        self, rules: _core.PingRules, index: int, spec: PingWorkload, context: Context
    ) -> None:
        self._rules, self._index, self._spec = rules, index, spec
        self._hosts = context.hosts
        self._identifier = index + 1
        self._remote = context.hosts.places[spec["to"]].address
        self._socket: socket.socket | None = None

    def open(self, table: Timetable) -> None:
        """Make the socket.

        Raises:
            OSError: what the kernel refused.
        """
        with self._hosts.inside(self._spec["from"]):
            made = socket.socket(
                socket.AF_INET, socket.SOCK_RAW | socket.SOCK_NONBLOCK, socket.IPPROTO_ICMP
            )
        # linux/icmp.h: a bit set is a type that is not wanted.
        made.setsockopt(_SOL_RAW, _ICMP_FILTER, struct.pack("=I", 0xFFFFFFFF ^ 1 << _REPLY))
        stamped(made)
        # A second of a flood's answers, should this process wait for its processor meanwhile.
        with contextlib.suppress(OSError):
            made.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, _BUFFER_BYTES)
        self._socket = made
        table.watch(made, selectors.EVENT_READ, lambda _: self._receive(table))

    def start(self, table: Timetable) -> None:
        """Send the first request, and the next ones when they are due."""

        def send() -> None:
            number = self._rules.send(table.now(), self._index)
            if number is not None:
                self._request(number)
                table.at(self._rules.next_due(self._index), send)

        table.at(self._rules.next_due(self._index), send)

    def _request(self, number: int) -> None:
        assert self._socket is not None
        padding = bytes(self._spec["size_bytes"] - LEAST_BYTES)
        body = struct.pack("!HHQ", self._identifier, number & 0xFFFF, number) + padding
        head = struct.pack(
            "!BBH", _REQUEST, 0, checksum(struct.pack("!BBH", _REQUEST, 0, 0) + body)
        )
        with contextlib.suppress(OSError):
            self._socket.sendto(head + body, (self._remote, 0))

    def _receive(self, table: Timetable) -> None:
        assert self._socket is not None
        while True:
            try:
                packet, ancillary, _, _ = self._socket.recvmsg(2048, 64)
            except OSError:
                return
            now, age = table.now(), age_s(ancillary)
            begin = (packet[0] & 15) * 4
            identifier, _, number = struct.unpack_from("!HHQ", packet, begin + 4)
            if identifier == self._identifier:
                self._rules.answer(now - age, self._index, number)
