"""A ping: real echo requests, which the kernel of the other host answers."""

from __future__ import annotations

import contextlib
import selectors
import socket
import struct
from collections.abc import Mapping
from typing import Any

from flashcrowd.autolimit.probes.icmp import checksum
from flashcrowd.emulation.arrival_stamp import age_s, stamped
from flashcrowd.emulation.hosts import Hosts
from flashcrowd.emulation.timetable import Timetable

_HEADERS = 28
"""IP and ICMP, without options."""
LEAST_BYTES = _HEADERS + 8
"""The number of a request stands behind its headers."""
_SOL_RAW, _ICMP_FILTER = 255, 1
_REPLY, _REQUEST = 0, 8
_SO_RCVBUFFORCE = 33
"""asm-generic/socket.h: beyond the machine's limit, for who administers the network."""
_BUFFER_BYTES = 16 << 20
"""A packet of 1400 B takes 2304 B of a socket's buffer."""


class Echo:
    """The echo requests of one ping workload.

    Attributes:
        spec: the workload, as the plan has it.
        echoes: when each request was sent, in seconds of the run, and how long its answer took.
    """

    def __init__(self, spec: Mapping[str, Any], identifier: int) -> None:
        self.spec = spec
        self.echoes: list[tuple[float, float | None]] = []
        self._identifier = identifier
        self._stopped = False
        self._socket: socket.socket | None = None
        self._remote = ""

    def open(self, hosts: Hosts, table: Timetable) -> None:
        """Make the socket, in the asking host."""
        with hosts.inside(self.spec["from"]):
            made = socket.socket(
                socket.AF_INET, socket.SOCK_RAW | socket.SOCK_NONBLOCK, socket.IPPROTO_ICMP
            )
        # linux/icmp.h: a bit set is a type that is not wanted.
        made.setsockopt(_SOL_RAW, _ICMP_FILTER, struct.pack("=I", 0xFFFFFFFF ^ 1 << _REPLY))
        stamped(made)
        # A second of a flood's answers, should this process wait for its processor meanwhile.
        with contextlib.suppress(OSError):
            made.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, _BUFFER_BYTES)
        self._remote = hosts.places[self.spec["to"]].address
        self._socket = made
        table.watch(made, selectors.EVENT_READ, lambda _: self._receive(table))

    def start(self, table: Timetable) -> None:
        """Send the first request, and the next ones when they are due."""
        begin = self.spec["start_ns"] / 1e9
        stop = self.spec["stop_ns"]

        def send() -> None:
            due = begin + len(self.echoes) * self.spec["interval_ns"] / 1e9
            if self._stopped or (stop is not None and due >= stop / 1e9):
                return
            self._request(table)
            following = begin + len(self.echoes) * self.spec["interval_ns"] / 1e9
            table.at(following, send)

        table.at(begin, send)

    def stop(self) -> None:
        """Send no more."""
        self._stopped = True

    def _request(self, table: Timetable) -> None:
        assert self._socket is not None
        number = len(self.echoes)
        padding = bytes(self.spec["size_bytes"] - LEAST_BYTES)
        body = struct.pack("!HHQ", self._identifier, number & 0xFFFF, number) + padding
        head = struct.pack(
            "!BBH", _REQUEST, 0, checksum(struct.pack("!BBH", _REQUEST, 0, 0) + body)
        )
        self.echoes.append((table.now(), None))
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
            if identifier == self._identifier and number < len(self.echoes):
                sent, known = self.echoes[number]
                if known is None:
                    self.echoes[number] = (sent, now - age - sent)
