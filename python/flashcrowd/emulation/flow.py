"""A flow of a transfer over this kernel's TCP: both ends, and what is told of them."""

from __future__ import annotations

import contextlib
import selectors
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from flashcrowd.emulation.hosts import Hosts
from flashcrowd.emulation.round_trips import RoundTrips
from flashcrowd.emulation.tcp_info import TcpInfo, tcp_info
from flashcrowd.emulation.timetable import Timetable

CHUNK = 1448
"""What a limited application writes at a time: one segment's worth, as in the simulation."""
_LEAST_TICK_S = 0.0005
"""A faster application writes several chunks at a time."""
_BUFFER = memoryview(bytes(1 << 18))
_INTO = bytearray(1 << 18)
FIRST_PORT = 10_000
MOST_FLOWS = 50_000


class OtherController(OSError):
    """The kernel has set another congestion controller than the one that was asked for."""


@dataclass
class Counts:
    """What a flow has done by some instant."""

    received: int = 0
    segments: int = 0
    retransmits: int = 0
    timeouts: int = 0

    def less(self, other: Counts) -> Counts:
        """What it has done since another instant."""
        return Counts(
            self.received - other.received,
            self.segments - other.segments,
            self.retransmits - other.retransmits,
            self.timeouts - other.timeouts,
        )


class Flow:
    """One flow of one transfer, from its host to its host.

    Attributes:
        spec: the transfer, as the plan has it.
        number: its number in the transfer.
        received: payload bytes that the receiving application has read.
        started_s: when the connection was opened.
        ended_s: when the last byte was read, the connection failed, or the flow was stopped.
        info: what the kernel last said of the sending end.
    """

    def __init__(
        self,
        spec: Mapping[str, Any],
        number: int,
        port: int,
        algorithm: str,
        window: tuple[float, float],
        ended: Callable[[], None],
    ) -> None:
        self.spec = spec
        self.number = number
        self.received = 0
        self.started_s: float | None = None
        self.ended_s: float | None = None
        self.info: TcpInfo | None = None
        self.rate_bps: int | None = spec["rate_bps"]
        self._port = port
        self._algorithm = algorithm
        self._unsent: int | None = spec["size_bytes"]
        self._backlog = 0
        self._ticking = False
        self._ticked_s = 0.0
        self._round_trips = RoundTrips(*window)
        self._on_end = ended
        self._sender: socket.socket | None = None
        self._receiver: socket.socket | None = None
        self._listener: socket.socket | None = None
        self._connected = False

    @property
    def is_finite(self) -> bool:
        """Whether it can end by itself, or by the clock."""
        return self.spec["size_bytes"] is not None or self.spec["stop_ns"] is not None

    def listen(self, hosts: Hosts, table: Timetable) -> None:
        """Make the receiving end ready.

        Raises:
            OtherController: the kernel has set another congestion controller.
            OSError: what the kernel refused.
        """
        with hosts.inside(self.spec["to"]) as place:
            self._listener = self._socket()
            self._listener.bind((place.address, self._port))
            self._listener.listen(1)
        table.watch(self._listener, selectors.EVENT_READ, lambda _: self._accept(table))
        with hosts.inside(self.spec["from"]):
            self._sender = self._socket()
        self._remote = hosts.places[self.spec["to"]].address

    def _socket(self) -> socket.socket:
        made = socket.socket(socket.AF_INET, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
        wanted = self._algorithm.encode()
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, wanted)
        there = made.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16).rstrip(b"\0")
        if there != wanted:
            raise OtherController(f"asked for {self._algorithm}, the kernel uses {there.decode()}")
        return made

    def start(self, table: Timetable) -> None:
        """Open the connection, and send from then on."""
        if self.ended_s is not None or self._sender is None:
            return
        self.started_s = table.now()
        self._sender.connect_ex((self._remote, self._port))
        table.watch(self._sender, selectors.EVENT_WRITE, lambda _: self._on_writable(table))

    def stop(self, table: Timetable) -> None:
        """End it, finished or not."""
        if self.ended_s is None:
            self._end(table)

    def limit(self, rate_bps: int | None, table: Timetable) -> None:
        """Change the application's limit."""
        self.rate_bps = rate_bps
        if self._connected:
            self._pump(table)

    def sample(self, table: Timetable) -> None:
        """Ask the kernel how the sending end is."""
        if self._sender is None or self.started_s is None or self.ended_s is not None:
            return
        with contextlib.suppress(OSError):
            self.info = tcp_info(self._sender)
            if self.info.srtt_s is not None:
                self._round_trips.see(table.now(), self.info.srtt_s)

    def counts(self) -> Counts:
        """What it has done so far, as the kernel last said."""
        info = self.info
        if info is None:
            return Counts(self.received)
        return Counts(self.received, info.segments, info.retransmits, info.timeouts or 0)

    def round_trips(self, now_s: float) -> tuple[float, float, float] | None:
        """Mean, least and 95th percentile of its round-trip time, over time."""
        if self.ended_s is None:
            self._round_trips.hold(now_s)
        return self._round_trips.summary()

    def _accept(self, table: Timetable) -> None:
        if self._listener is None:
            return
        self._receiver, _ = self._listener.accept()
        self._receiver.setblocking(False)
        table.watch(self._receiver, selectors.EVENT_READ, lambda _: self._on_readable(table))
        table.forget(self._listener)
        self._listener.close()
        self._listener = None

    def _on_readable(self, table: Timetable) -> None:
        assert self._receiver is not None
        try:
            count = self._receiver.recv_into(_INTO)
        except BlockingIOError:
            return
        except OSError:
            return self._end(table)
        self.received += count
        if count == 0 or self.received == self.spec["size_bytes"]:
            self._end(table)

    def _on_writable(self, table: Timetable) -> None:
        assert self._sender is not None
        self._connected = True
        error = self._sender.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if error:
            return self._end(table)
        self._pump(table)

    def _pump(self, table: Timetable) -> None:
        """Write as much as the application has and the socket takes; close after the last byte."""
        assert self._sender is not None
        if self.rate_bps is not None and not self._ticking:
            self._ticking, self._ticked_s = True, table.now()
            table.at(self._ticked_s, lambda: self._tick(table))
        blocked = False
        while not blocked:
            ready = len(_BUFFER) if self.rate_bps is None else self._backlog
            ready = min(ready, len(_BUFFER), len(_BUFFER) if self._unsent is None else self._unsent)
            if not ready:
                break
            try:
                written = self._sender.send(_BUFFER[:ready])
            except BlockingIOError:
                blocked = True
                break
            except OSError:
                return self._end(table)
            self._backlog = max(0, self._backlog - written)
            if self._unsent is not None:
                self._unsent -= written
        if self._unsent == 0:
            table.forget(self._sender)
            with contextlib.suppress(OSError):
                self._sender.shutdown(socket.SHUT_WR)
            self._unsent = -1
        elif self._unsent != -1 and blocked:
            table.watch(self._sender, selectors.EVENT_WRITE, lambda _: self._on_writable(table))
        else:
            table.forget(self._sender)

    def _tick(self, table: Timetable) -> None:
        """A limited application produces what is due since the last time."""
        if self.rate_bps is None or self.ended_s is not None:
            self._ticking = False
            return
        every = CHUNK * 8 / self.rate_bps
        now = table.now()
        due = 1 + int((now - self._ticked_s) / every)
        self._backlog += due * CHUNK
        self._ticked_s += due * every
        table.at(max(self._ticked_s, now + _LEAST_TICK_S), lambda: self._tick(table))
        if self._connected:
            self._pump(table)

    def _end(self, table: Timetable) -> None:
        if self.ended_s is not None:
            return
        self.sample(table)
        self.ended_s = table.now()
        self._round_trips.hold(self.ended_s)
        for end in (self._sender, self._receiver, self._listener):
            if end is not None:
                table.forget(end)
        done = self.received == self.spec["size_bytes"]
        for end in (self._sender, self._receiver, self._listener):
            if end is not None:
                with contextlib.suppress(OSError):
                    if not done:  # stopped: the connection is reset, as an aborted one is
                        end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
                    end.close()
        self._sender = self._receiver = self._listener = None
        self._on_end()
