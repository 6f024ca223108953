"""The kernel's state of a TCP connection (`TCP_INFO`, linux/tcp.h).

Fields are read by their offsets, which do not change; newer kernels append.
"""

from __future__ import annotations

import socket
import struct

from flashcrowd.emulation.flow import Sender

_BYTES = 256
_UNKNOWN = 0xFFFFFFFF


def tcp_info(connection: socket.socket) -> Sender:
    """The kernel's state of a connection now; timeouts from Linux 6.7 on."""
    info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _BYTES)

    def word(offset: int) -> int:
        return struct.unpack_from("=I", info, offset)[0]

    mss, srtt, cwnd = word(16), word(68), word(80)
    least = word(148)
    return Sender(
        srtt_s=srtt / 1e6 if srtt else None,
        min_rtt_s=None if least in (0, _UNKNOWN) else least / 1e6,
        cwnd_bytes=cwnd * mss,
        segments=word(136),
        retransmits=word(100),
        timeouts=struct.unpack_from("=H", info, 240)[0] if len(info) >= 244 else None,
    )
