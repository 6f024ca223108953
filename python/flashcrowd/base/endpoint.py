"""Where the other end is: `HOST:PORT` as people write it."""

from __future__ import annotations

import ipaddress
import re
import socket
from dataclasses import dataclass

from flashcrowd.base.errors import Problem, StudyError

PORT = 5299
"""The port if none is given."""

PORTS = "a port from 1 to 65535"
"""Where something can be sent to."""


@dataclass(frozen=True)
class Endpoint:
    """A host and a port.

    Attributes:
        host: a name or an address, without brackets.
        port: 0 to 65535.
    """

    host: str
    port: int

    @classmethod
    def parse(cls, text: str, name: str = "HOST:PORT") -> Endpoint:
        """From `host`, `host:port`, `[address]:port` or a bare IPv6 address.

        Raises:
            StudyError: it is none of these, an IPv6 address whose last part may be a port, or has
                port 0, which cannot be reached.
        """
        host, port = text, str(PORT)
        if text.startswith("["):
            host, bracket, rest = text[1:].partition("]")
            if not bracket or (rest and not rest.startswith(":")):
                raise _wrong(name, text)
            port = rest[1:] if rest else port
        elif text.count(":") == 1:
            host, _, port = text.partition(":")
        elif ":" in text:
            _refuse_ambiguous(name, text)
        number = port_number(port)
        if not host or number is None:
            raise _wrong(name, text)
        if number == 0:
            hint = "port 0 lets `serve` take a free one, which it prints: send there"
            raise StudyError([Problem(name, text, PORTS, hint)], "command line")
        return cls(host, number)

    def resolve(self, family: socket.AddressFamily = socket.AF_UNSPEC) -> list[str]:
        """Its addresses as the core takes them, the system's favourite first.

        Raises:
            StudyError: the host is unknown.
        """
        try:
            found = socket.getaddrinfo(self.host, self.port, family, socket.SOCK_DGRAM)
        except (OSError, UnicodeError) as error:
            why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            allowed = "the name or the address of a host"
            raise StudyError([Problem("host", self.host, allowed, why)], "command line") from None
        addresses = [address for *_, address in found]
        return list(dict.fromkeys(written(str(host), int(port)) for host, port, *_ in addresses))


def port_number(text: str) -> int | None:
    """A port, 0 to 65535; None for a text that is none, however long it is."""
    digits = re.fullmatch("0*([0-9]{1,5})", text)
    return int(digits[1]) if digits and int(digits[1]) <= 65535 else None


def written(host: str, port: int) -> str:
    """An address with a port, IPv6 in brackets."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _refuse_ambiguous(name: str, text: str) -> None:
    """`::1:5299` is an address, and hardly meant as one."""
    address, _, port = text.rpartition(":")
    if port_number(port) is not None and _is_ipv6(address):
        allowed = "an IPv6 address in brackets where it could end in a port"
        hint = f'write "[{address}]:{port}" for port {port}'
        if _is_ipv6(text):
            hint += f', "[{text}]" for that address'
        raise StudyError([Problem(name, text, allowed, hint)], "command line")


def _is_ipv6(text: str) -> bool:
    try:
        ipaddress.IPv6Address(text)
    except ValueError:
        return False
    return True


def _wrong(name: str, text: str) -> StudyError:
    allowed = f"a host, HOST:PORT, or [ADDRESS]:PORT for IPv6, with {PORTS}"
    return StudyError([Problem(name, text, allowed)], "command line")
