"""Where a server listens, as people write it."""

from __future__ import annotations

import socket

from flashcrowd.utp.place import written

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
    if not (port.isascii() and port.isdecimal() and int(port) <= 65535):
        raise ValueError(f"it is no {ALLOWED}")
    if not host:
        return [written("::", int(port)), written("0.0.0.0", int(port))]
    try:
        found = socket.getaddrinfo(host, int(port), type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise ValueError(f"no such host is known ({why})") from None
    addresses = [address for *_, address in found]
    return list(dict.fromkeys(written(str(host), int(port)) for host, port, *_ in addresses))
