"""A call: datagrams at a constant rate from each host to the other, between real UDP sockets."""

from __future__ import annotations

import contextlib
import math
import selectors
import socket
import struct
from collections.abc import Iterator, Mapping
from typing import Any

from flashcrowd.emulation.arrival_stamp import age_s, stamped
from flashcrowd.emulation.hosts import Hosts
from flashcrowd.emulation.timetable import Timetable

_HEADERS = 28
"""IP and UDP, without options."""
_WORDS = struct.Struct("!QQ")
"""The number of a packet, and when it was sent, in nanoseconds of the run."""
LEAST_BYTES = _HEADERS + _WORDS.size
_RECEIVED = 2048


class Direction:
    """The packets from one host to the other.

    Attributes:
        delays: one-way delay of each packet in seconds, by its number; None until it arrives.
        jitters: the interarrival jitter (RFC 3550, section 6.4.1) after the last arrival among the
            packets of each row, in seconds.
    """

    def __init__(self) -> None:
        self.delays: list[float | None] = []
        self.jitters: dict[int, float] = {}
        self._last: float | None = None
        self._jitter = 0.0

    def arrive(self, number: int, row: int, delay: float) -> None:
        """The packet of this number, which belongs to this row, arrives."""
        if number >= len(self.delays):
            return
        self.delays[number] = delay
        if self._last is not None:
            self._jitter += (abs(delay - self._last) - self._jitter) / 16
        self._last = delay
        self.jitters[row] = self._jitter


class Call:
    """The packets of one call workload.

    Attributes:
        spec: the workload, as the plan has it.
        directions: from the host `from` to the host `to`, and back.
    """

    def __init__(self, spec: Mapping[str, Any], port: int) -> None:
        self.spec = spec
        self.directions = (Direction(), Direction())
        self._port = port
        self._stopped = False
        self._sockets: list[socket.socket] = []
        self._remotes: list[tuple[str, int]] = []

    @property
    def packets_a_row(self) -> int | None:
        """Packets of one row but for the last one; None for one row in all."""
        every_ns = self.spec["every_ns"]
        return None if every_ns is None else -(-every_ns // self.spec["interval_ns"])

    def open(self, hosts: Hosts, table: Timetable) -> None:
        """Make a socket on each host, which sends one direction and receives the other.

        Raises:
            OSError: what the kernel refused.
        """
        ends = ("from", "to")
        for end in ends:
            with hosts.inside(self.spec[end]) as place:
                made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
                made.bind((place.address, self._port))
            stamped(made)
            self._sockets.append(made)
        self._remotes = [(hosts.places[self.spec[end]].address, self._port) for end in ends[::-1]]
        for made, direction in zip(self._sockets, self.directions[::-1], strict=True):
            table.watch(made, selectors.EVENT_READ, self._receiver(made, direction, table))

    def start(self, table: Timetable) -> None:
        """Send the first packets, and the next ones when they are due."""
        begin_ns, interval_ns = self.spec["start_ns"], self.spec["interval_ns"]
        stop_ns = self.spec["stop_ns"]

        def send(number: int) -> None:
            if self._stopped:
                return
            for end, direction in enumerate(self.directions):
                direction.delays.append(None)
                words = _WORDS.pack(number, max(0, round(table.now() * 1e9)))
                padding = bytes(self.spec["size_bytes"] - LEAST_BYTES)
                with contextlib.suppress(OSError):  # what the kernel does not take is lost
                    self._sockets[end].sendto(words + padding, self._remotes[end])
            schedule(number + 1)

        def schedule(number: int) -> None:
            due_ns = begin_ns + number * interval_ns
            if stop_ns is None or due_ns < stop_ns:
                table.at(due_ns / 1e9, lambda: send(number))

        schedule(0)

    def stop(self) -> None:
        """Send no more."""
        self._stopped = True

    def _receiver(self, made: socket.socket, direction: Direction, table: Timetable) -> Any:
        a_row = self.packets_a_row

        def receive(_: int) -> None:
            while True:
                try:
                    packet, ancillary, _, _ = made.recvmsg(_RECEIVED, 64)
                except OSError:
                    return
                now, age = table.now(), age_s(ancillary)
                number, sent_ns = _WORDS.unpack_from(packet)
                row = 0 if a_row is None else number // a_row
                direction.arrive(number, row, now - age - sent_ns / 1e9)

        return receive

    def rows(
        self, plan: Mapping[str, Any], window: tuple[float, float]
    ) -> Iterator[dict[str, Any]]:
        """Its rows of the table `calls`, of packets that are due inside of a window."""
        hosts = plan["network"]["hosts"]
        names = [hosts[self.spec[end]]["name"] for end in ("from", "to")]
        start_s, interval_s = self.spec["start_ns"] / 1e9, self.spec["interval_ns"] / 1e9
        first, last = (
            max(0, math.ceil((at - start_s) / interval_s - 1e-9)) if at < math.inf else math.inf
            for at in window
        )
        for direction, (sender, receiver) in zip(
            self.directions, (names, names[::-1]), strict=True
        ):
            count = len(direction.delays)
            a_row = self.packets_a_row or max(count, 1)
            for row, begin in enumerate(range(0, count, a_row)):
                chosen = range(int(max(begin, first)), int(min(begin + a_row, count, last)))
                if not chosen:
                    continue
                delays = sorted(
                    delay for it in chosen if (delay := direction.delays[it]) is not None
                )
                yield {
                    "call": self.spec["name"],
                    "from": sender,
                    "to": receiver,
                    "start_s": start_s + chosen[0] * interval_s,
                    "sent": len(chosen),
                    "lost": len(chosen) - len(delays),
                    "mean_delay_s": sum(delays) / len(delays) if delays else None,
                    # The nearest rank: the least that 95 % do not exceed.
                    "p95_delay_s": delays[-(-len(delays) * 95 // 100) - 1] if delays else None,
                    "max_delay_s": delays[-1] if delays else None,
                    "jitter_s": direction.jitters.get(row),
                }
