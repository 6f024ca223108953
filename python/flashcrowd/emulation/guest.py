"""A client of a content server over the emulated network: one connection, from arrival to end.

Unlike a visitor on the loopback it reads whatever has come: the network is what slows it.
"""

from __future__ import annotations

import selectors
import socket
import struct
from collections.abc import Callable

from flashcrowd.content_server.answer import Answer, Piece, request
from flashcrowd.content_server.chunks import Wrong
from flashcrowd.content_server.visit import Visit
from flashcrowd.emulation.timetable import Timetable
from flashcrowd.http.multipart import Malformed

EARLY_BYTES = 1 << 16
"""Below 64 KiB received, wake the client for each packet: unread bytes would be a part of its small
window.
"""
WAKE_BYTES = 1 << 14
"""After that, wake it at 16 KiB (`SO_RCVLOWAT`; acknowledgements do not wait for it): hundreds of
clients that read each packet on its own would take a processor.
"""
_INTO = memoryview(bytearray(1 << 18))
_RESET = struct.pack("=ii", 1, 0)


class Guest:
    """A visit that is under way, or over.

    Args:
        visit: what it is.
        contents: of the file.
        read: called with the bytes of the file that have come.
        ended: called when it goes.

    Attributes:
        visit: what it is.
        answer: what has come.
        broke_off: whether its connection ended before it had its file.
        failure: what the server did wrong, in words; empty if nothing.
    """

    def __init__(
        self,
        visit: Visit,
        contents: bytes,
        read: Callable[[list[Piece]], None],
        ended: Callable[[Guest], None],
    ) -> None:
        self.visit = visit
        self.answer = Answer(contents, in_order=visit.in_order)
        self.broke_off = False
        self.failure = ""
        self._told = read
        self._ended = ended
        self._least = 1
        self._socket: socket.socket | None = None
        self._request = memoryview(b"")

    def come(self, made: socket.socket, remote: tuple[str, int], table: Timetable) -> None:
        """Connect to the server and ask for the file.

        Args:
            made: a socket in the namespace of its host, which does not block.
            remote: where the server listens.
            table: the clock of the run.
        """
        path = f"/{self.visit.file}"
        self._request = memoryview(request(path, remote, in_order=self.visit.in_order))
        self._socket = made
        made.connect_ex(remote)
        table.watch(made, selectors.EVENT_WRITE, lambda _: self._ask(table))

    def leave(self, table: Timetable) -> None:
        """Go; without the whole file the connection is reset, as an aborted one is."""
        if self._socket is None:
            return
        table.forget(self._socket)
        self.close()
        self._ended(self)

    def close(self) -> None:
        """End what is left of the connection."""
        if self._socket is not None:
            if not self.answer.complete:
                self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
            self._socket.close()
            self._socket = None

    def _ask(self, table: Timetable) -> None:
        assert self._socket is not None
        try:
            self._request = self._request[self._socket.send(self._request) :]
        except BlockingIOError:
            return
        except OSError:
            self._break_off(table)
            return
        if not self._request:
            table.watch(self._socket, selectors.EVENT_READ, lambda _: self._read(table))

    def _read(self, table: Timetable) -> None:
        assert self._socket is not None
        try:
            count = self._socket.recv_into(_INTO)
        except BlockingIOError:
            return
        except OSError:
            count = 0
        if not count:
            self._break_off(table)
            return
        try:
            found = self.answer.feed(_INTO[:count])
        except (Wrong, Malformed) as error:
            self.failure = f"{self.visit.host_name}: {error}"
            self.leave(table)
            return
        self._told(found)
        if self.answer.complete:
            self.leave(table)
        elif self.answer.received >= EARLY_BYTES:
            # At least this much comes, so that the last byte wakes it, too.
            least = min(WAKE_BYTES, self.answer.missing)
            if least != self._least:
                self._least = least
                self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, least)

    def _break_off(self, table: Timetable) -> None:
        """The server ends the connection, or nothing gets through any more."""
        self.broke_off = True
        self.leave(table)
