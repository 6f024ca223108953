"""The blocks of a pcapng file (draft-ietf-opsawg-pcapng), four kinds of them, little-endian."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping

SECTION_HEADER = 0x0A0D0D0A
INTERFACE = 1
NAMES = 4
PACKET = 6

LINKTYPE_RAW = 101
"""Packets begin with the header of IP."""

_NANOSECONDS = 9
_END = (0, b"")
_COMMENT = 1


def section(application: str, comment: str) -> bytes:
    """The beginning of a file: who wrote it, and what it is."""
    body = struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1)
    return _block(SECTION_HEADER, body + _options(((_COMMENT, comment), (4, application))))


def interface(name: str, address: bytes) -> bytes:
    """The interface of a host, with raw IP and times in nanoseconds."""
    body = struct.pack("<HHI", LINKTYPE_RAW, 0, 0)
    mask = bytes((255, 0, 0, 0))
    options = ((2, name), (4, address + mask), (9, bytes((_NANOSECONDS,))))
    return _block(INTERFACE, body + _options(options))


def names(of: Mapping[bytes, str]) -> bytes:
    """Names of IPv4 addresses."""
    records = [
        _padded(struct.pack("<HH", 1, len(record)), record)
        for record in (address + name.encode() + b"\0" for address, name in of.items())
    ]
    return _block(NAMES, b"".join([*records, struct.pack("<HH", 0, 0)]))


def packet(t_ns: int, sent: bool, length: int, data: bytes) -> bytes:
    """A packet of the first interface.

    Args:
        t_ns: when it passed.
        sent: whether the host sent it; otherwise it arrived.
        length: how long it was.
        data: its first bytes.
    """
    # The sizes of all but the data are fixed: this is called a million times.
    total = 44 + (len(data) + 3) // 4 * 4
    head = struct.pack(
        "<IIIIIII", PACKET, total, 0, t_ns >> 32, t_ns & 0xFFFFFFFF, len(data), length
    )
    tail = struct.pack("<HHIHHI", 2, 4, 2 if sent else 1, 0, 0, total)
    return b"".join((head, data, bytes(-len(data) % 4), tail))


def _block(kind: int, body: bytes) -> bytes:
    total = struct.pack("<I", len(body) + 12)
    return b"".join((struct.pack("<I", kind), total, body, total))


def _options(options: Iterable[tuple[int, str | bytes]]) -> bytes:
    parts = []
    for code, value in (*options, _END):
        data = value.encode() if isinstance(value, str) else value
        parts.append(_padded(struct.pack("<HH", code, len(data)), data))
    return b"".join(parts)


def _padded(head: bytes, data: bytes) -> bytes:
    return head + data + bytes(-len(data) % 4)
