"""ICMP echo: from a datagram socket where `net.ipv4.ping_group_range` lets this group, else raw."""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Iterator
from typing import ClassVar

from flashcrowd.autolimit.probes.prober import Prober, Reflector

_ECHO = {socket.AF_INET: 8, socket.AF_INET6: 128}
_REPLY = {socket.AF_INET: 0, socket.AF_INET6: 129}
_PAYLOAD = b"flashcrowd ping "


class Icmp(Prober):
    """Echo requests (RFC 792, RFC 4443).

    Of a datagram socket the kernel chooses the identifier and hears the replies alone. A raw one
    (root, or CAP_NET_RAW) hears those of every program, and knows its own by the identifier.
    """

    kind: ClassVar[str] = "icmp"
    cost: ClassVar[int] = 20 + 8 + len(_PAYLOAD)

    def __init__(self) -> None:
        """Open a socket.

        Raises:
            OSError: this user may not, or the system has no such sockets.
        """
        self._identifier = int.from_bytes(os.urandom(2), "big")
        self._sockets = {socket.AF_INET: self._open(socket.AF_INET)}

    def send(self, number: int, reflector: Reflector) -> socket.socket | None:
        """Send an echo request whose sequence number is the probe's."""
        family = reflector.family
        new = family not in self._sockets
        if new:
            self._sockets[family] = self._open(family)
        head = struct.pack("!BBHHH", _ECHO[family], 0, 0, self._identifier, number)
        # The kernel fills in the checksum, but for a raw socket of IPv4.
        check = checksum(head + _PAYLOAD).to_bytes(2, "big")
        self._sockets[family].sendto(head[:2] + check + head[4:] + _PAYLOAD, (reflector.address, 0))
        return self._sockets[family]

    def receive(self, ready: socket.socket) -> Iterator[int]:
        """Sequence numbers of the replies that came."""
        while True:
            try:
                data = ready.recv(256)
            except OSError:  # nothing more, or a router's complaint about an earlier one
                return
            family, raw = socket.AddressFamily(ready.family), ready.type == socket.SOCK_RAW
            if raw and family == socket.AF_INET:
                data = data[4 * (data[0] & 15) :]  # without the IP header
            ours = not raw or data[4:6] == self._identifier.to_bytes(2, "big")
            if len(data) >= 8 and data[0] == _REPLY[family] and ours:
                yield int.from_bytes(data[6:8], "big")

    def close(self) -> None:
        """Close the sockets."""
        for opened in self._sockets.values():
            opened.close()

    def _open(self, family: socket.AddressFamily) -> socket.socket:
        protocol = socket.IPPROTO_ICMP if family == socket.AF_INET else socket.IPPROTO_ICMPV6
        try:
            opened = socket.socket(family, socket.SOCK_DGRAM, protocol)
        except OSError as refused:
            try:
                opened = socket.socket(family, socket.SOCK_RAW, protocol)
            except OSError:
                raise refused from None
        opened.setblocking(False)
        return opened


def checksum(data: bytes) -> int:
    """That of the Internet (RFC 1071)."""
    words = struct.unpack(f"!{len(data) // 2}H", data[: len(data) & ~1])
    total = sum(words) + (data[-1] << 8 if len(data) % 2 else 0)
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF
