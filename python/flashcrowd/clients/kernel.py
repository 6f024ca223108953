"""The kernel's counters of one place."""

from __future__ import annotations

import fcntl
import socket
import struct
from pathlib import Path

from flashcrowd.clients.host_sandbox import HostSandbox, entered

SIOCGIFFLAGS = 0x8913
IFF_UP = 1
_LISTEN = "0A"  # net/tcp_states.h


def has_loopback(place: HostSandbox) -> bool:
    """Whether the loopback interface of a place is up (`netdevice(7)`)."""
    with entered(place.netns), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        said = fcntl.ioctl(asking, SIOCGIFFLAGS, struct.pack("16sh22x", b"lo", 0))
    return bool(struct.unpack("16sh22x", said)[1] & IFF_UP)


def listeners(place: HostSandbox, port: int) -> frozenset[int]:
    """The TCP sockets that listen at a place's address and a port, by their inodes (`proc(5)`)."""
    with entered(place.netns):
        lines = Path("/proc/thread-self/net/tcp").read_text().splitlines()[1:]
    (address,) = struct.unpack("=I", socket.inet_aton(place.address))
    ends = f"{address:08X}:{port:04X}", f"{0:08X}:{port:04X}"
    rows = (line.split() for line in lines)
    return frozenset(int(row[9]) for row in rows if row[3] == _LISTEN and row[1] in ends)


def timeouts(place: HostSandbox) -> int:
    """TCP retransmission timeouts in the namespace of a place (`TcpExt` `TCPTimeouts`).

    0 without an own namespace: the machine's counter mixes all programs.
    """
    return _counter(place, "netstat", "TcpExt:", "TCPTimeouts")


def retransmits(place: HostSandbox) -> int:
    """TCP segments retransmitted in the namespace of a place (`Tcp` `RetransSegs`).

    0 for a place without a namespace of its own.
    """
    return _counter(place, "snmp", "Tcp:", "RetransSegs")


def _counter(place: HostSandbox, file: str, group: str, name: str) -> int:
    if place.netns is None:
        return 0
    with entered(place.netns):
        lines = Path(f"/proc/thread-self/net/{file}").read_text().splitlines()
    for names, values in zip(lines[::2], lines[1::2], strict=True):
        if names.startswith(group):
            return int(dict(zip(names.split(), values.split(), strict=True))[name])
    return 0
