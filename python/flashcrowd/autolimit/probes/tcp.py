"""The handshake of TCP: its time is a round trip, whether the port is open or refuses."""

from __future__ import annotations

import contextlib
import errno
import socket
import struct
from collections.abc import Iterator
from typing import ClassVar

from flashcrowd.autolimit.probes.prober import Prober, Reflector

PORT = 443
_UNDER_WAY = (errno.EINPROGRESS, errno.EWOULDBLOCK, errno.EAGAIN)
_RESET = struct.pack("ii", 1, 0)
"""SO_LINGER with no time: the connection is reset, not kept in TIME_WAIT."""


class Tcp(Prober):
    """One connection a probe, given up as soon as it is there."""

    kind: ClassVar[str] = "tcp"
    # SYN with options 60, acknowledgement 52, reset 40; an open port is the expensive case.
    cost: ClassVar[int] = 60 + 52 + 40

    def __init__(self) -> None:
        self._numbers: dict[socket.socket, int] = {}

    def writing(self) -> bool:
        """A handshake is over when one can write."""
        return True

    def send(self, number: int, reflector: Reflector) -> socket.socket | None:
        """Begin a handshake."""
        opened = socket.socket(reflector.family, socket.SOCK_STREAM)
        opened.setblocking(False)
        try:
            with contextlib.suppress(OSError):
                opened.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
                # One more SYN after a second, and no third one.
                opened.setsockopt(socket.IPPROTO_TCP, getattr(socket, "TCP_SYNCNT", 7), 1)
            status = opened.connect_ex((reflector.address, reflector.port or PORT))
            if status and status not in (*_UNDER_WAY, errno.ECONNREFUSED):
                raise OSError(status, errno.errorcode.get(status, "?"))
        except OSError:
            opened.close()
            raise
        self._numbers[opened] = number
        return opened

    def receive(self, ready: socket.socket) -> Iterator[int]:
        """The probe of this socket, unless what came is another error than a refusal."""
        number = self._numbers.pop(ready, None)
        status = ready.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        ready.close()
        if number is not None and status in (0, errno.ECONNREFUSED):
            yield number

    def forget(self, number: int) -> socket.socket | None:
        """Give up a handshake."""
        for opened, its in self._numbers.items():
            if its == number:
                del self._numbers[opened]
                opened.close()
                return opened
        return None

    def close(self) -> None:
        """Close the sockets."""
        for opened in self._numbers:
            opened.close()
        self._numbers.clear()
