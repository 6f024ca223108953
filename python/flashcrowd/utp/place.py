"""Where the other end is: `HOST:PORT` as people write it."""

from __future__ import annotations

import socket
from dataclasses import dataclass

from flashcrowd.errors import Problem, StudyError

PORT = 5299
"""The port if none is given."""


@dataclass(frozen=True)
class Place:
    """A host and a port.

    Attributes:
        host: a name or an address, without brackets.
        port: 0 to 65535.
    """

    host: str
    port: int

    @classmethod
    def parse(cls, text: str, name: str = "HOST:PORT") -> Place:
        """From `host`, `host:port`, `[address]:port` or a bare IPv6 address.

        Raises:
            StudyError: it is none of these.
        """
        host, port = text, str(PORT)
        if text.startswith("["):
            host, bracket, rest = text[1:].partition("]")
            if not bracket or (rest and not rest.startswith(":")):
                raise _wrong(name, text)
            port = rest[1:] if rest else port
        elif text.count(":") == 1:
            host, _, port = text.partition(":")
        if not host or not port.isascii() or not port.isdecimal() or int(port) > 65535:
            raise _wrong(name, text)
        return cls(host, int(port))

    def resolve(self, family: socket.AddressFamily = socket.AF_UNSPEC) -> list[str]:
        """Its addresses as the core takes them, the system's favourite first.

        Raises:
            StudyError: nobody knows such a host.
        """
        try:
            found = socket.getaddrinfo(self.host, self.port, family, socket.SOCK_DGRAM)
        except (OSError, UnicodeError) as error:
            why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            allowed = "the name or the address of a host"
            raise StudyError([Problem("host", self.host, allowed, why)], "command line") from None
        addresses = [address for *_, address in found]
        return list(dict.fromkeys(written(str(host), int(port)) for host, port, *_ in addresses))


def written(host: str, port: int) -> str:
    """An address with a port, IPv6 in brackets."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _wrong(name: str, text: str) -> StudyError:
    allowed = "a host, HOST:PORT, or [ADDRESS]:PORT for IPv6, with a port from 0 to 65535"
    return StudyError([Problem(name, text, allowed)], "command line")
