"""A flow of a transfer over this kernel's TCP: both ends."""

from __future__ import annotations

import contextlib
import selectors
import socket

from flashcrowd.emulation.flow import Flow, FlowJob
from flashcrowd.emulation.hosts import Hosts
from flashcrowd.emulation.stack import controller, stack_of
from flashcrowd.emulation.tcp_info import tcp_info
from flashcrowd.emulation.timetable import Timetable

CHUNK = 1448
"""Bytes that a limited application writes at a time: one segment's worth, as in the simulation."""
_LEAST_TICK_S = 0.0005
"""A faster application writes several chunks at a time."""
_BUFFER = memoryview(bytes(1 << 18))
_INTO = bytearray(1 << 18)


class OtherController(OSError):
    """The kernel has set another congestion controller than the one that was asked for."""


def congested(algorithm: str) -> socket.socket:
    """A TCP socket in the namespace of the calling thread, with this congestion controller.

    Raises:
        OtherController: the kernel has set another one.
        OSError: what the kernel refused.
    """
    made = socket.socket(socket.AF_INET, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
    wanted = algorithm.encode()
    try:
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, wanted)
        there = made.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16).rstrip(b"\0")
        if there != wanted:
            raise OtherController(f"asked for {algorithm}, the kernel uses {there.decode()}")
    except OSError:
        made.close()
        raise
    return made


class TcpFlow(Flow):
    """A flow over this kernel's TCP."""

    def __init__(self, job: FlowJob) -> None:
        super().__init__(job)
        self._algorithm = controller(stack_of(job.plan, job.spec)) or ""
        self._unsent: int | None = job.spec["size_bytes"]
        self._backlog = 0
        self._ticking = False
        self._ticked_s = 0.0
        self._sender: socket.socket | None = None
        self._receiver: socket.socket | None = None
        self._listener: socket.socket | None = None
        self._connected = False

    def listen(self, hosts: Hosts, table: Timetable) -> None:
        """Make the receiving end ready.

        Raises:
            OtherController: the kernel has set another congestion controller.
            OSError: what the kernel refused.
        """
        with hosts.inside(self.spec["to"]) as place:
            self._listener = congested(self._algorithm)
            self._listener.bind((place.address, self.job.port))
            self._listener.listen(1)
        table.watch(self._listener, selectors.EVENT_READ, lambda _: self._accept(table))
        with hosts.inside(self.spec["from"]):
            self._sender = congested(self._algorithm)
        self._remote = hosts.places[self.spec["to"]].address

    def start(self, table: Timetable) -> None:
        """Open the connection, and send from then on."""
        if self.ended_s is not None or self._sender is None:
            return
        self._note_start(table.now())
        self._sender.connect_ex((self._remote, self.job.port))
        table.watch(self._sender, selectors.EVENT_WRITE, lambda _: self._on_writable(table))

    def limit(self, rate_bps: int | None, table: Timetable) -> None:
        """Change the application's limit."""
        self.rate_bps = rate_bps
        if self._connected:
            self._pump(table)

    def sample(self, table: Timetable, *, fresh: bool = False) -> None:
        """Ask the kernel how the sending end is."""
        del fresh
        if self._sender is None or self.started_s is None or self.ended_s is not None:
            return
        with contextlib.suppress(OSError):
            self._note_sender(table.now(), tcp_info(self._sender))

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
        self._note_received(self.received + count)
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

    def _end(self, table: Timetable, at_s: float | None = None) -> None:
        self.sample(table)
        for end in (self._sender, self._receiver, self._listener):
            if end is not None:
                table.forget(end)
        super()._end(table, at_s)

    def _close_connection(self) -> None:
        done = self.received == self.spec["size_bytes"]
        for end in (self._sender, self._receiver, self._listener):
            if end is not None:
                with contextlib.suppress(OSError):
                    if not done:  # stopped: the connection is reset, as an aborted one is
                        end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
                    end.close()
        self._sender = self._receiver = self._listener = None
