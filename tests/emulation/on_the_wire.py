"""Packets of hosts of an emulation that appear on this machine's own interfaces."""

from __future__ import annotations

import ipaddress
import socket
import struct
from types import TracebackType
from typing import Self

NETWORK = ipaddress.ip_network("198.18.0.0/15")
_ALL, _IPV4 = 0x0003, 0x0800  # if_ether.h
_ARP = 0x0806


class OfTheLab:
    """Sees all packets on all interfaces of this namespace, both ways (`packet(7)`)."""

    def __enter__(self) -> Self:
        self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(_ALL))
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 24)
        self._socket.setblocking(False)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._socket.close()

    def count(self) -> int:
        """How many came since the last call that are from an address of a lab, or to one."""
        found = 0
        while True:
            try:
                packet, (_, protocol, *_) = self._socket.recvfrom(64)
            except BlockingIOError:
                return found
            ends: list[bytes] = []
            if protocol == _IPV4 and len(packet) >= 20:
                ends = [packet[12:16], packet[16:20]]
            elif protocol == _ARP and len(packet) >= 28:
                ends = [packet[14:18], packet[24:28]]
            addresses = (ipaddress.ip_address(struct.unpack("!I", end)[0]) for end in ends)
            found += any(address in NETWORK for address in addresses)
