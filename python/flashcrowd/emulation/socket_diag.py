"""The kernel's view of every TCP connection of a host, of any process (`sock_diag(7)`)."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator
from dataclasses import dataclass

from flashcrowd.clients.host_sandbox import HostSandbox, entered

# linux/netlink.h, linux/sock_diag.h, linux/inet_diag.h, linux/tcp.h
_NETLINK_SOCK_DIAG, _SOCK_DIAG_BY_FAMILY = 4, 20
_REQUEST_DUMP = 0x301
_ERROR, _DONE = 2, 3
_INET_DIAG_INFO = 2
_ESTABLISHED = 1 << 1
_HEADER, _MESSAGE = 16, 72
_RTT, _DATA_SEGS_OUT = 68, 156
_ROOM = 1 << 16


@dataclass(frozen=True)
class Connection:
    """A connection that stands.

    Attributes:
        cookie: by which the kernel tells it from all others of its host, before and after.
        port: its own port.
        remote_port: that of the other end.
        srtt_s: smoothed round-trip time; None before the first sample.
        data_segments: segments with payload that were sent, those sent again included.
    """

    cookie: bytes
    port: int
    remote_port: int
    srtt_s: float | None
    data_segments: int


class SocketDiag:
    """Asks one host's kernel. The socket stays in the namespace in which it was made."""

    def __init__(self, place: HostSandbox) -> None:
        """Open the socket.

        Raises:
            OSError: what the kernel refused.
        """
        with entered(place.netns):
            self._netlink = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _NETLINK_SOCK_DIAG)

    def connections(self) -> Iterator[Connection]:
        """Every TCP connection over IPv4 that stands now.

        Raises:
            OSError: what the kernel refused.
        """
        asked = struct.pack(
            "=BBBxI48x",
            socket.AF_INET,
            socket.IPPROTO_TCP,
            1 << (_INET_DIAG_INFO - 1),
            _ESTABLISHED,
        )
        header = struct.pack(
            "=IHHII", _HEADER + len(asked), _SOCK_DIAG_BY_FAMILY, _REQUEST_DUMP, 0, 0
        )
        self._netlink.send(header + asked)
        while True:
            answer = self._netlink.recv(_ROOM)
            at = 0
            while at + _HEADER <= len(answer):
                length, kind = struct.unpack_from("=IH", answer, at)
                if kind == _DONE:
                    return
                if kind == _ERROR:
                    (number,) = struct.unpack_from("=i", answer, at + _HEADER)
                    raise OSError(-number, "the kernel does not tell of its TCP connections")
                found = _read(answer[at + _HEADER : at + length])
                if found is not None:
                    yield found
                at += (length + 3) & ~3

    def close(self) -> None:
        """End it."""
        self._netlink.close()


def _read(message: bytes) -> Connection | None:
    """One `inet_diag_msg` with its attributes; None without what was asked for."""
    port, remote_port = struct.unpack_from("!HH", message, 4)
    at = _MESSAGE
    while at + 4 <= len(message):
        length, kind = struct.unpack_from("=HH", message, at)
        if kind == _INET_DIAG_INFO and length >= 4 + _DATA_SEGS_OUT + 4:
            (srtt_us,) = struct.unpack_from("=I", message, at + 4 + _RTT)
            (segments,) = struct.unpack_from("=I", message, at + 4 + _DATA_SEGS_OUT)
            srtt = srtt_us / 1e6 if srtt_us else None
            return Connection(message[44:52], port, remote_port, srtt, segments)
        at += max((length + 3) & ~3, 4)
    return None
