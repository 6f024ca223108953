"""What the kernel says of a TCP connection (`TCP_INFO`, linux/tcp.h).

Fields are read by their offsets, which do not change; newer kernels append.
"""

from __future__ import annotations

import socket
import struct
from dataclasses import dataclass

_BYTES = 256
_UNKNOWN = 0xFFFFFFFF


@dataclass(frozen=True)
class TcpInfo:
    """The sending end of a connection.

    Attributes:
        srtt_s: smoothed round-trip time in seconds; `None` before the first sample.
        min_rtt_s: least round-trip time.
        cwnd_bytes: congestion window.
        segments: segments sent.
        retransmits: segments sent again.
        timeouts: retransmission timeouts; `None` before Linux 6.7.
    """

    srtt_s: float | None
    min_rtt_s: float | None
    cwnd_bytes: int
    segments: int
    retransmits: int
    timeouts: int | None


def tcp_info(connection: socket.socket) -> TcpInfo:
    """What the kernel says of a connection now."""
    info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _BYTES)

    def word(offset: int) -> int:
        return struct.unpack_from("=I", info, offset)[0]

    mss, srtt, cwnd = word(16), word(68), word(80)
    least = word(148)
    return TcpInfo(
        srtt_s=srtt / 1e6 if srtt else None,
        min_rtt_s=None if least in (0, _UNKNOWN) else least / 1e6,
        cwnd_bytes=cwnd * mss,
        segments=word(136),
        retransmits=word(100),
        timeouts=struct.unpack_from("=H", info, 240)[0] if len(info) >= 244 else None,
    )
