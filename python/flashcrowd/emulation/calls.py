"""Calls: datagrams at a constant rate from each host to the other, between real UDP sockets."""

from __future__ import annotations

import contextlib
import selectors
import socket
import struct
from typing import Any

from flashcrowd import _core
from flashcrowd.emulation.app import Context, Datagrams
from flashcrowd.emulation.arrival_stamp import age_s, stamped
from flashcrowd.emulation.timetable import Timetable
from flashcrowd.plan.types import CallWorkload

_HEADERS = 28
"""IP and UDP, without options."""
_WORDS = struct.Struct("!QQ")
"""The number of a packet, and when it was sent, in nanoseconds of the run."""
LEAST_BYTES = _HEADERS + _WORDS.size
_RECEIVED = 2048


class Calls(Datagrams[_core.CallRules]):
    """The packets of all calls."""

    kind = "call"
    least_bytes = LEAST_BYTES

    def __init__(self, context: Context) -> None:
        rules = _core.CallRules(context.plan)
        calls = context.workloads(CallWorkload)
        super().__init__(rules, {it: Call(rules, it, spec, context) for it, spec in calls})


class Call:
    """One call: a socket on each host, which sends one direction and receives the other."""

    def __init__(
        self, rules: _core.CallRules, index: int, spec: CallWorkload, context: Context
    ) -> None:
        self._rules, self._index, self._spec = rules, index, spec
        self._hosts, self._port = context.hosts, next(context.ports)
        self._sockets: list[socket.socket] = []
        ends = (spec["to"], spec["from"])
        self._remotes = [(context.hosts.places[end].address, self._port) for end in ends]

    def open(self, table: Timetable) -> None:
        """Make both sockets.

        Raises:
            OSError: what the kernel refused.
        """
        # The host `to` receives direction 0, the host `from` the other.
        for end, direction in (("from", 1), ("to", 0)):
            with self._hosts.inside(self._spec[end]) as place:
                made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
                made.bind((place.address, self._port))
            stamped(made)
            self._sockets.append(made)
            table.watch(made, selectors.EVENT_READ, self._receiver(made, direction, table))

    def start(self, table: Timetable) -> None:
        """Send the first packets, and the next ones when they are due."""
        padding = bytes(self._spec["size_bytes"] - LEAST_BYTES)

        def send() -> None:
            number = self._rules.send(self._index)
            if number is None:
                return
            for made, remote in zip(self._sockets, self._remotes, strict=True):
                words = _WORDS.pack(number, max(0, round(table.now() * 1e9)))
                with contextlib.suppress(OSError):  # a packet that the kernel does not take is lost
                    made.sendto(words + padding, remote)
            table.at(self._rules.next_due(self._index), send)

        table.at(self._rules.next_due(self._index), send)

    def _receiver(self, made: socket.socket, direction: int, table: Timetable) -> Any:
        def receive(_: int) -> None:
            while True:
                try:
                    packet, ancillary, _, _ = made.recvmsg(_RECEIVED, 64)
                except OSError:
                    return
                now, age = table.now(), age_s(ancillary)
                number, sent_ns = _WORDS.unpack_from(packet)
                delay_s = max(0.0, now - age - sent_ns / 1e9)
                self._rules.arrive(self._index, direction, number, delay_s)

        return receive
