"""The remote procedure calls of Deluge's daemon: messages over TLS.

A message is its version (1), its length in four bytes, and a value in rencode, compressed by zlib
(`deluge/transfer.py` of Deluge 2.0). What a client sends is a list of requests, each with a number;
each is answered in a message of its own. The daemon makes its certificate itself, so that there is
nothing to hold it against, and Deluge's own programs do not look at it, either.

rencode is that of `deluge-client`. That library's own connection reads ten bytes at a time, trusts
any announced length, never times out, and does not support IPv6. This one aborts on request and on
a time limit, and bounds memory.
"""

from __future__ import annotations

import contextlib
import importlib
import socket
import ssl
import struct
import time
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from flashcrowd.client_api import http
from flashcrowd.client_api.client import Gone

HEADER = struct.Struct("!BI")
VERSION = 1
RESPONSE, ERROR, EVENT = 1, 2, 3
"""Kinds of messages of the daemon."""
ANSWERS = RESPONSE, ERROR


@dataclass(frozen=True)
class Request:
    """A call of a method.

    Attributes:
        method: its name, as `core.get_config_values`.
        arguments: those without a name.
        named: those with one.
    """

    method: str
    arguments: Sequence[Any] = ()
    named: Mapping[str, object] = field(default_factory=dict)


class Rejected(Exception):
    """The daemon answers with an exception.

    Attributes:
        kind: its name, as `BadLoginError`.
    """

    def __init__(self, kind: str) -> None:
        super().__init__(kind)
        self.kind = kind


class DelugeRpc:
    """One connection that is kept open; after an error it is closed.

    Attributes:
        met: whether a TLS peer ever answered there.
        peer: the host that the last connection reached, as `http.peer` returns it.

    Raises:
        ModuleNotFoundError: `deluge-client` is not installed.
    """

    def __init__(self, host: str, port: int) -> None:
        self._place = host, port
        self._rencode = importlib.import_module("deluge_client.rencode")
        self._socket: socket.socket | None = None
        self._numbers = 0
        self.met = False
        self.peer: str | None = None

    @property
    def connected(self) -> bool:
        """Whether there is a connection, as far as is known."""
        return self._socket is not None

    def ask(self, *requests: Request) -> list[Any]:
        """The answers to some requests that are sent together, in their order.

        Raises:
            Gone: there is none, or not what a daemon says.
            Rejected: the daemon answers one with an exception.
        """
        ends = time.monotonic() + http.TIMEOUT_S
        try:
            if self._socket is None:
                self._connect(ends)
            return self._ask(requests, ends)
        except (OSError, ValueError) as error:
            self.close()
            raise Gone(http.reason(error)) from error
        except Gone:
            self.close()
            raise

    def abort(self) -> None:
        """From another thread: break off what is under way."""
        if (connected := self._socket) is not None:
            with contextlib.suppress(OSError):
                connected.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Close the connection."""
        connected, self._socket = self._socket, None
        if connected is not None:
            connected.close()

    def _connect(self, ends: float) -> None:
        plain = http.dial(*self._place, ends)
        self.peer = http.peer(plain)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        self._socket = context.wrap_socket(plain, do_handshake_on_connect=False)
        self._socket.settimeout(max(ends - time.monotonic(), 0.001))
        self._socket.do_handshake()
        self.met = True

    def _ask(self, requests: Sequence[Request], ends: float) -> list[Any]:
        asked = range(self._numbers, self._numbers + len(requests))
        self._numbers = asked.stop
        calls = [
            (number, request.method, list(request.arguments), dict(request.named))
            for number, request in zip(asked, requests, strict=True)
        ]
        body = zlib.compress(self._rencode.dumps(calls))
        assert self._socket is not None
        self._socket.settimeout(max(ends - time.monotonic(), 0.001))
        self._socket.sendall(HEADER.pack(VERSION, len(body)) + body)
        answers: dict[int, Any] = {}
        rejected: Rejected | None = None
        room = http.MOST_BYTES
        while len(answers) < len(requests):
            body = self._message(room, ends)
            room -= len(body)
            match self._value(body):
                case (kind, int(number), value, *_) if kind in ANSWERS and number in asked:
                    answers[number] = value
                    if kind == ERROR:
                        rejected = rejected or Rejected(str(value))
                case (kind, *_) if kind == EVENT:
                    pass
                case _:
                    raise Gone("garbage: a message that is no answer")
        if rejected is not None:
            raise rejected
        return [answers[number] for number in asked]

    def _message(self, most: int, ends: float) -> bytes:
        version, length = HEADER.unpack(self._exactly(HEADER.size, ends))
        if version != VERSION:
            raise Gone(f"garbage: a message of version {version}")
        if length > most:
            raise Gone("garbage: a message without end")
        return self._exactly(length, ends)

    def _exactly(self, length: int, ends: float) -> bytes:
        assert self._socket is not None
        read = bytearray()
        while len(read) < length:
            if (left := ends - time.monotonic()) <= 0:
                raise TimeoutError("an answer that takes too long")
            self._socket.settimeout(left)
            chunk = self._socket.recv(min(length - len(read), 65536))
            if not chunk:
                raise ConnectionResetError("it closed the connection")
            read += chunk
        return bytes(read)

    def _value(self, body: bytes) -> Any:
        unpacked = zlib.decompressobj()
        try:
            text = unpacked.decompress(body, http.MOST_BYTES)
            if not unpacked.eof:
                raise Gone("garbage: a message that is cut off or without end")
            return self._rencode.loads(text, decode_utf8=True)
        except Gone:
            raise
        except Exception:  # of bytes that are no rencode the library raises what comes
            raise Gone("garbage: a message that is no rencode") from None
