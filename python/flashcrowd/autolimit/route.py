"""Which way packets leave: when it changes, what was learnt of delays is wrong."""

from __future__ import annotations

import contextlib
import socket
from dataclasses import dataclass
from pathlib import Path

from flashcrowd.autolimit.probes import Reflector

_ROUTES = Path("/proc/thread-self/net/route")
"""Of this thread: one of a testbed is in another network namespace than its process."""
_UP_AND_GATEWAY = 0x3


@dataclass(frozen=True)
class Route:
    """The way to a reflector.

    Attributes:
        source: our address on it.
        gateways: interfaces and gateways of default routes, where the system tells.
    """

    source: str
    gateways: frozenset[tuple[str, str]]


def look(reflector: Reflector) -> Route | None:
    """The way now; None if there is none. Nothing is sent."""
    with contextlib.suppress(OSError), socket.socket(reflector.family, socket.SOCK_DGRAM) as asked:
        asked.connect((reflector.address, 9))
        return Route(asked.getsockname()[0], _gateways())
    return None


def _gateways() -> frozenset[tuple[str, str]]:
    try:
        rows = [line.split() for line in _ROUTES.read_text().splitlines()[1:]]
    except OSError:
        return frozenset()
    return frozenset(
        (row[0], row[2])
        for row in rows
        if len(row) > 3 and row[1] == "00000000" and int(row[3], 16) & 3 == _UP_AND_GATEWAY
    )
