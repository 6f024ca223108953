"""When the kernel had a datagram, not when this program got round to it."""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Iterable

_SO_TIMESTAMPNS = 35


def stamped(made: socket.socket) -> None:
    """Have the kernel say of each datagram when it came."""
    made.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)


def age_s(ancillary: Iterable[tuple[int, int, bytes]]) -> float:
    """For how long a datagram has been there, by its ancillary data; 0 without any."""
    wall = time.time_ns()
    for level, kind, data in ancillary:
        if level == socket.SOL_SOCKET and kind == _SO_TIMESTAMPNS:
            seconds, nanos = struct.unpack("=qq", data[:16])
            return max(0.0, (wall - seconds * 1_000_000_000 - nanos) / 1e9)
    return 0.0
