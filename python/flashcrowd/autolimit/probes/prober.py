"""One way to probe: send, and match what comes back."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True)
class Reflector:
    """A host that answers probes.

    Attributes:
        address: its IPv4 or IPv6 address.
        port: where TCP and UDP are sent to; None for what is usual (443 and 53).
    """

    address: str
    port: int | None = None

    @property
    def family(self) -> socket.AddressFamily:
        """IPv4 or IPv6."""
        return socket.AF_INET6 if ":" in self.address else socket.AF_INET

    def __str__(self) -> str:
        if self.port is None:
            return self.address
        return (
            f"[{self.address}]:{self.port}"
            if ":" in self.address
            else f"{self.address}:{self.port}"
        )


class Prober:
    """Sends probes of one kind. A probe is known by a number from 0 to 65535.

    Attributes:
        kind: its name.
        cost: bytes that leave the host for each probe, IP headers included.
    """

    kind: ClassVar[str]
    cost: ClassVar[int]

    def send(self, number: int, reflector: Reflector) -> socket.socket | None:
        """Send a probe; gives a socket to watch if it is a new one.

        Raises:
            OSError: it cannot be sent now.
        """
        raise NotImplementedError

    def receive(self, ready: socket.socket) -> Iterator[int]:
        """The probes that were answered on a socket that is ready."""
        raise NotImplementedError

    def writing(self) -> bool:
        """Whether sockets are to be watched for writing: a handshake is over when one can write."""
        return False

    def forget(self, number: int) -> socket.socket | None:
        """A probe is lost; gives the socket that need not be watched any more, closed."""
        return None

    def close(self) -> None:
        """Close every socket."""
        raise NotImplementedError
