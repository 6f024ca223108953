"""Counters of the kernel for one place."""

from __future__ import annotations

from pathlib import Path

from flashcrowd.clients.place import Place, entered


def timeouts(place: Place) -> int:
    """TCP retransmission timeouts so far in the namespace of a place (`TcpExt` `TCPTimeouts`).

    0 for a place without a namespace of its own: the machine's counter is nobody's.
    """
    if place.netns is None:
        return 0
    with entered(place.netns):
        lines = Path("/proc/thread-self/net/netstat").read_text().splitlines()
    for names, values in zip(lines[::2], lines[1::2], strict=True):
        if names.startswith("TcpExt:"):
            return int(dict(zip(names.split(), values.split(), strict=True))["TCPTimeouts"])
    return 0
