"""A question over UDP: public resolvers answer it, others say that the port is closed."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator
from typing import ClassVar

from flashcrowd.autolimit.probes.prober import Prober, Reflector

PORT = 53
# A query of DNS (RFC 1035) for the address of the root, which has none: a short, cached answer.
_QUESTION = struct.pack("!HHHHH", 0x0100, 1, 0, 0, 0) + b"\0" + struct.pack("!HH", 1, 1)


class Udp(Prober):
    """One connected socket a reflector, so that "port unreachable" is heard, too."""

    kind: ClassVar[str] = "udp"
    cost: ClassVar[int] = 20 + 8 + 2 + len(_QUESTION)

    def __init__(self) -> None:
        self._sockets: dict[Reflector, socket.socket] = {}
        self._latest: dict[socket.socket, int] = {}

    def send(self, number: int, reflector: Reflector) -> socket.socket | None:
        """Ask; the number of the query is the probe's."""
        opened = self._sockets.get(reflector)
        if opened is None:
            opened = socket.socket(reflector.family, socket.SOCK_DGRAM)
            opened.setblocking(False)
            try:
                opened.connect((reflector.address, reflector.port or PORT))
            except OSError:
                opened.close()
                raise
            self._sockets[reflector] = opened
        self._latest[opened] = number
        try:
            opened.send(struct.pack("!H", number) + _QUESTION)
        except ConnectionRefusedError:
            # What the network said of an earlier probe; that one has been heard of or given up.
            opened.send(struct.pack("!H", number) + _QUESTION)
        return opened

    def receive(self, ready: socket.socket) -> Iterator[int]:
        """The numbers of the answers that came."""
        while True:
            try:
                data = ready.recv(2048)
            except ConnectionRefusedError:
                # Which one was refused is not said; one is under way a reflector, as a rule.
                if (number := self._latest.pop(ready, None)) is not None:
                    yield number
                continue
            except OSError:
                return
            if len(data) >= 2:
                yield int.from_bytes(data[:2], "big")

    def close(self) -> None:
        """Close the sockets."""
        for opened in self._sockets.values():
            opened.close()
        self._sockets.clear()
