"""HTTP to a client: an answer is small and comes soon as a whole, or there is none.

Heads and bodies are read as those of downloads are (`flashcrowd.download`).
"""

from __future__ import annotations

import contextlib
import ipaddress
import json
import math
import socket
import ssl
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from flashcrowd.client_api.client import Gone
from flashcrowd.http.connection import Connection, refused
from flashcrowd.http.errors import Broken, Cut
from flashcrowd.http.framing import End, body, framing
from flashcrowd.http.head import read_head

TIMEOUT_S = 5.0
"""For the whole of an answer, from the connection to the last byte. Clients answer within
milliseconds; one that hashes files or swaps may take a second."""
MOST_BYTES = 16 << 20
"""The longest list of torrents that is read: 0.6 MB are 500 torrents of qBittorrent."""
ABORTED_S = 0.1
"""Requests of one turn follow each other within this number of seconds."""
LATE = "no answer in time"


@dataclass(frozen=True)
class Answer:
    """Status, headers (names in lower case) and body."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def succeeded(self) -> bool:
        """Whether the request did: any status of that class (RFC 9110, 15.3), also without body."""
        return 200 <= self.status < 300

    @property
    def failed(self) -> bool:
        """Whether a client is there that cannot answer now.

        A server that knows no such method (501, Not Implemented) is another program.
        """
        return self.status >= 500 and self.status != 501

    @property
    def text(self) -> str:
        """The body as text."""
        return self.body.decode("utf-8", "replace")

    def json(self) -> Any:
        """The body as JSON.

        Raises:
            Gone: it is none.
        """
        try:
            return json.loads(self.body)
        except (ValueError, RecursionError):
            raise Gone("an answer that is no JSON") from None


class Http:
    """One connection that is kept open, and opened again when it was closed.

    Args:
        host: a name or an address.
        port: the port.
        tls: whether to speak HTTPS.
        within: what is entered while a connection is opened, as a network namespace is.
    """

    def __init__(
        self,
        host: str,
        port: int,
        tls: bool = False,
        within: Callable[[], AbstractContextManager[object]] = contextlib.nullcontext,
    ) -> None:
        self._host, self._port, self._within = host, port, within
        self._tls = ssl.create_default_context() if tls else None
        self._connection: Connection | None = None
        self._broken_off = -math.inf
        self.peer: str | None = None
        """The host that the last connection reached: `localhost` for this machine, else an address.
        """

    def ask(
        self,
        method: str,
        path: str,
        body: bytes | str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """An answer.

        Raises:
            Gone: there is none.
        """
        given = body.encode() if isinstance(body, str) else body or b""
        fields = {"host": self._authority, "accept-encoding": "identity"}
        if given or method == "POST":
            fields["content-length"] = str(len(given))
        fields |= {name.lower(): value for name, value in (headers or {}).items()}
        now = time.monotonic()
        if now < self._broken_off:
            raise Gone("broken off")
        ends = now + TIMEOUT_S
        while True:
            try:
                self.connect(ends)
                return self._ask(method, path, fields, given)
            except (OSError, Broken, ValueError) as error:
                connection, self._connection = self._connection, None
                over = connection is not None and connection.ends <= time.monotonic()
                kept = connection is not None and not connection.fresh
                if connection is not None:
                    connection.close()
                # The other end may have closed a connection that was kept: once more.
                if kept and isinstance(error, Cut) and not over:
                    continue
                raise Gone(LATE if over else reason(error)) from error

    def connect(self, ends: float | None = None) -> None:
        """Be connected at an instant of `time.monotonic`; after `TIMEOUT_S` if none is given.

        Raises:
            OSError: that is not to be had.
        """
        ends = time.monotonic() + TIMEOUT_S if ends is None else ends
        if self._connection is not None and not self._connection.idle:
            self.close()
        if self._connection is None:
            with self._within():
                link = dial(self._host, self._port, ends)
            self.peer = peer(link)
            if self._tls is not None:
                link.settimeout(max(ends - time.monotonic(), 0.001))
                try:
                    link = self._tls.wrap_socket(link, server_hostname=self._host)
                except BaseException:
                    link.close()
                    raise
            self._connection = Connection(link, TIMEOUT_S, self._tls is not None)
        self._connection.ends = ends

    def _ask(self, method: str, path: str, fields: Mapping[str, str], given: bytes) -> Answer:
        connection = self._connection
        assert connection is not None
        if any(letter in text for text in (path, *fields.values()) for letter in "\r\n\0"):
            raise ValueError("a line break in a request")
        connection.send(method, path, fields, given)
        head = read_head(connection.stream)
        how = framing(method, head)
        said = bytearray()
        for piece in body(connection.stream, how):
            said += piece
            if len(said) > MOST_BYTES:
                raise Broken("an answer without end")
        words = [it.strip(" \t").lower() for it in head.fields.get("connection", "").split(",")]
        keeps = "keep-alive" in words if head.minor == 0 else "close" not in words
        connection.fresh = False
        if not keeps or how.end is End.CLOSE:
            self.close()
        return Answer(head.status, head.fields, bytes(said))

    @property
    def _authority(self) -> str:
        host = f"[{self._host}]" if ":" in self._host else self._host
        return host if self._port == (443 if self._tls else 80) else f"{host}:{self._port}"

    def abort(self) -> None:
        """From another thread, or a signal's handler: break off what is under way.

        That is the request, and one that follows at once.
        """
        self._broken_off = time.monotonic() + ABORTED_S
        if (connected := self._connection) is not None:
            connected.abort()

    def close(self) -> None:
        """Close the connection."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()


def dial(host: str, port: int, ends: float) -> socket.socket:
    """A connection, at an instant of `time.monotonic` at the latest; a name is looked up first.

    Raises:
        OSError: there is none.
    """
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    last: OSError = OSError("no address")
    for left, (family, kind, protocol, _, where) in zip(
        range(len(found), 0, -1), found, strict=True
    ):
        seconds = (ends - time.monotonic()) / left
        if seconds <= 0:
            raise TimeoutError
        link = socket.socket(family, kind, protocol)
        try:
            link.settimeout(seconds)
            link.connect(where)
            return link
        except OSError as error:
            link.close()
            if isinstance(error, ConnectionRefusedError):
                error = ConnectionRefusedError(error.errno, refused(host, port))
            last = error
        except BaseException:
            link.close()
            raise
    raise last


def peer(link: socket.socket) -> str:
    """The host that a connection reaches: `localhost` for this machine, else an address."""
    mine, other = (
        ipaddress.ip_address(it[0].partition("%")[0])
        for it in (link.getsockname(), link.getpeername())
    )
    return "localhost" if other == mine or other.is_loopback else str(other)


def reason(error: BaseException) -> str:
    """An error in few words."""
    if isinstance(error, TimeoutError):
        return LATE
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted ({error.verify_message})"
    if isinstance(error, ssl.SSLError):
        return "it does not speak TLS"
    if isinstance(error, OSError):
        return error.strerror or str(error) or type(error).__name__
    if isinstance(error, Broken):
        return str(error)
    return f"an answer that is no HTTP ({type(error).__name__})"
