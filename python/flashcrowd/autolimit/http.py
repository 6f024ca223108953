"""HTTP to a client: an answer is small and comes soon, or there is none."""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from flashcrowd.autolimit.client import Gone

TIMEOUT_S = 5.0
"""Clients answer within milliseconds; one that hashes files or swaps may take a second."""
MOST_BYTES = 16 << 20
"""The longest list of torrents that is read: 0.6 MB are 500 torrents of qBittorrent."""


@dataclass(frozen=True)
class Answer:
    """Status, headers (names in lower case) and body."""

    status: int
    headers: Mapping[str, str]
    body: bytes

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
    """One connection that is kept open, and opened again when it was closed."""

    def __init__(self, host: str, port: int, tls: bool = False) -> None:
        if tls:
            self._connection = http.client.HTTPSConnection(
                host, port, timeout=TIMEOUT_S, context=ssl.create_default_context()
            )
        else:
            self._connection = http.client.HTTPConnection(host, port, timeout=TIMEOUT_S)

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
        for again in (True, False):
            kept = self._connection.sock is not None
            try:
                return self._ask(method, path, body, dict(headers or {}))
            except (OSError, http.client.HTTPException, ValueError) as error:
                self._connection.close()
                # The other end may have closed a connection that was kept: once more.
                if kept and again and not isinstance(error, TimeoutError | ssl.SSLError):
                    continue
                raise Gone(reason(error)) from error
        raise AssertionError("the second time it returns or raises")

    def _ask(
        self, method: str, path: str, body: bytes | str | None, headers: dict[str, str]
    ) -> Answer:
        ends = time.monotonic() + TIMEOUT_S
        self._connection.request(method, path, body, headers)
        response = self._connection.getresponse()
        said = bytearray()
        while chunk := response.read1(65536):
            said += chunk
            if len(said) > MOST_BYTES:
                raise OSError("an answer without end")
            if time.monotonic() > ends:
                raise TimeoutError("an answer that takes too long")
        # What was read in parts is not over by itself, and the connection would take no other.
        response.close()
        given = {name.lower(): value for name, value in response.getheaders()}
        return Answer(response.status, given, bytes(said))

    def abort(self) -> None:
        """From another thread: break off the request that is under way."""
        connected = self._connection.sock
        if connected is not None:
            with contextlib.suppress(OSError):
                connected.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


def reason(error: BaseException) -> str:
    """An error in few words."""
    if isinstance(error, TimeoutError):
        return "no answer in time"
    if isinstance(error, ConnectionRefusedError):
        return "nobody listens there"
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted ({error.verify_message})"
    if isinstance(error, ssl.SSLError):
        return "it does not speak TLS"
    if isinstance(error, OSError):
        return error.strerror or str(error) or type(error).__name__
    return f"an answer that is no HTTP ({type(error).__name__})"
