"""TLS within TLS: to a server, through a proxy that is itself spoken to by TLS."""

from __future__ import annotations

import ssl
import time
from collections.abc import Callable
from functools import partial
from typing import TypeVar

NEVER_S = 1e6
"""In the place of no timeout."""
RECORD = 16 << 10
"""Bytes that are taken from the outer connection at a time, at most."""

T = TypeVar("T")


class Nested:
    """A connection in a connection, with the methods of a socket that are used here."""

    def __init__(self, outer: ssl.SSLSocket, tls: ssl.SSLContext, name: str) -> None:
        self._outer = outer
        self._in, self._out = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._until = time.monotonic() + (outer.gettimeout() or NEVER_S)
        self._inner = tls.wrap_bio(self._in, self._out, server_hostname=name)
        self._pass(self._inner.do_handshake)

    def _pass(self, call: Callable[[], T]) -> T:
        """The result of a call, after its bytes to send or read have gone or come."""
        while True:
            try:
                result = call()
            except ssl.SSLWantReadError:
                self._flush()
                # Of all records that it takes, and not of each.
                if (left_s := self._until - time.monotonic()) <= 0:
                    raise TimeoutError("timed out") from None
                self._outer.settimeout(left_s)
                data = self._outer.recv(RECORD)
                if data:
                    self._in.write(data)
                else:
                    self._in.write_eof()
            else:
                self._flush()
                return result

    def _flush(self) -> None:
        if self._out.pending:
            self._outer.sendall(self._out.read())

    def sendall(self, data: bytes) -> None:
        """Sends all."""
        while data:
            data = data[self._pass(partial(self._inner.write, data)) :]

    def recv_into(self, view: memoryview) -> int:
        """Puts what has come into a view; 0 at the end."""
        try:
            return self._pass(lambda: self._inner.read(len(view), view))  # pyright: ignore[reportArgumentType, reportReturnType]
        except ssl.SSLZeroReturnError:
            return 0

    def settimeout(self, seconds: float) -> None:
        """How long a call may wait."""
        self._until = time.monotonic() + seconds
        self._outer.settimeout(seconds)

    def fileno(self) -> int:
        """The number of the socket."""
        return self._outer.fileno()

    def close(self) -> None:
        """Closes both."""
        self._outer.close()
