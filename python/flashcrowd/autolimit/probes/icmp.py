"""ICMP echo from a datagram socket, where `net.ipv4.ping_group_range` lets this group."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator
from typing import ClassVar

from flashcrowd.autolimit.probes.prober import Prober, Reflector

_ECHO = {socket.AF_INET: 8, socket.AF_INET6: 128}
_REPLY = {socket.AF_INET: 0, socket.AF_INET6: 129}
_PAYLOAD = b"flashcrowd ping "


class Icmp(Prober):
    """Echo requests (RFC 792, RFC 4443). The kernel chooses the identifier."""

    kind: ClassVar[str] = "icmp"
    cost: ClassVar[int] = 20 + 8 + len(_PAYLOAD)

    def __init__(self) -> None:
        """Open a socket.

        Raises:
            OSError: this group may not, or the system has no such sockets.
        """
        self._sockets = {socket.AF_INET: self._open(socket.AF_INET)}

    def send(self, number: int, reflector: Reflector) -> socket.socket | None:
        """Send an echo request whose sequence number is the probe's."""
        family = reflector.family
        new = family not in self._sockets
        if new:
            self._sockets[family] = self._open(family)
        # The kernel fills in the checksum and the identifier.
        message = struct.pack("!BBHHH", _ECHO[family], 0, 0, 0, number) + _PAYLOAD
        self._sockets[family].sendto(message, (reflector.address, 0))
        return self._sockets[family]

    def receive(self, ready: socket.socket) -> Iterator[int]:
        """Sequence numbers of the replies that came."""
        while True:
            try:
                data = ready.recv(256)
            except OSError:  # nothing more, or a router's complaint about an earlier one
                return
            if len(data) >= 8 and data[0] == _REPLY[socket.AddressFamily(ready.family)]:
                yield int.from_bytes(data[6:8], "big")

    def close(self) -> None:
        """Close the sockets."""
        for opened in self._sockets.values():
            opened.close()

    def _open(self, family: socket.AddressFamily) -> socket.socket:
        protocol = socket.IPPROTO_ICMP if family == socket.AF_INET else socket.IPPROTO_ICMPV6
        opened = socket.socket(family, socket.SOCK_DGRAM, protocol)
        opened.setblocking(False)
        return opened
