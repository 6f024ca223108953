"""Hosts that answer probes: public resolvers, which are near to all users and meant to be asked."""

from __future__ import annotations

import socket

from flashcrowd.autolimit.probes.prober import Reflector
from flashcrowd.base.endpoint import port_number
from flashcrowd.client_api.client import Refused

PUBLIC = tuple(
    Reflector(address)
    for address in (
        "1.1.1.1",
        "8.8.8.8",
        "9.9.9.9",
        "208.67.222.222",
        "1.0.0.1",
        "8.8.4.4",
        "149.112.112.112",
        "208.67.220.220",
    )
)
"""Anycast resolvers of four networks, and the second address of each as a spare."""


def parse(text: str) -> Reflector:
    """From `HOST`, `HOST:PORT` or `[ADDRESS]:PORT`; a name is looked up once.

    Raises:
        Refused: it is none of these, or the host is unknown.
    """
    host, port = text, ""
    if text.startswith("["):
        host, _, rest = text[1:].partition("]")
        port = rest.removeprefix(":")
    elif text.count(":") == 1:
        host, _, port = text.partition(":")
    number = port_number(port) if port else None
    if not host or (port and not number):
        raise Refused(f"--reflector {text}: write HOST or HOST:PORT, [ADDRESS]:PORT for IPv6.")
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_DGRAM)
    except (OSError, UnicodeError):
        raise Refused(f"--reflector {text}: nobody knows the host {host}.") from None
    return Reflector(str(found[0][4][0]), number)
