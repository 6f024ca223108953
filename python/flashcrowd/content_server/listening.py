"""Where a server listens, as people write it."""

from __future__ import annotations

import contextlib
import ipaddress
import socket
from collections.abc import Sequence

from flashcrowd.base.endpoint import port_number, written

PORT = 8080
"""The port if none is given."""

ALLOWED = "HOST:PORT, [ADDRESS]:PORT, :PORT or PORT"


def listening(text: str) -> list[str]:
    """The addresses that a text may mean, with ports, the best one first.

    Without a host it is all addresses of the machine, over IPv6 and IPv4 if it can, else over IPv4.

    Raises:
        ValueError: it is none of the allowed forms, or no such host is known; in words.
    """
    text = text.strip()
    if not text:
        raise ValueError(f"it is no {ALLOWED}")
    if text.isdecimal():
        host, port = "", text
    else:
        host, colon, port = text.rpartition(":")
        if not colon or (":" in host and not (host.startswith("[") and host.endswith("]"))):
            # A host alone, or an IPv6 address without a port.
            host, port = text, str(PORT)
    host = host.removeprefix("[").removesuffix("]")
    number = port_number(port)
    if number is None:
        raise ValueError(f"it is no {ALLOWED}")
    if not host:
        return [written("::", number), written("0.0.0.0", number)]
    try:
        found = socket.getaddrinfo(host, number, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise ValueError(f"no such host is known ({why})") from None
    addresses = [address for *_, address in found]
    return list(dict.fromkeys(written(str(host), int(port)) for host, port, *_ in addresses))


_FAR = ((socket.AF_INET, "192.0.2.1"), (socket.AF_INET6, "2001:db8::1"))
"""Addresses for documentation (RFC 5737, RFC 3849): the system is asked for its own on the way."""


def reachable(scheme: str, address: str) -> list[str]:
    """The addresses by which a browser finds a server: on this machine first, then from others.

    Args:
        scheme: `http` or `https`.
        address: where it listens, with its port.
    """
    host, _, port = address.rpartition(":")
    ip = ipaddress.ip_address(host.strip("[]"))
    if not ip.is_unspecified:
        hosts = ["localhost"] if str(ip) == "127.0.0.1" else [str(ip)]
    else:
        hosts = ["localhost", *_own(both=ip.version == 6)]
    usual = {"http": "80", "https": "443"}[scheme]
    end = "" if port == usual else f":{port}"
    return [f"{scheme}://{f'[{it}]' if ':' in it else it}{end}/" for it in hosts]


def in_a_browser(places: Sequence[str], listing: bool) -> str:
    """The page that a browser shows of the server, and its address."""
    here, *others = places
    where = here
    if others:
        where = f"{here} on this machine, and from others at {' or '.join(others)}"
    elif "//localhost" in here:
        where = f"{here} on this machine only"
    if listing:
        return f"In a browser: a list of the files at {where} (--no-listing: none)."
    return f"In a browser: no list, and 404 at {where}; files have addresses below it."


def _own(both: bool) -> list[str]:
    """The addresses of this machine on its way to others; nothing is sent."""
    found: list[str] = []
    for family, far in _FAR[: 2 if both else 1]:
        with contextlib.suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as asks:
            asks.connect((far, 9))
            own = str(asks.getsockname()[0])
            if not ipaddress.ip_address(own.partition("%")[0]).is_loopback:
                found.append(own)
    return found
