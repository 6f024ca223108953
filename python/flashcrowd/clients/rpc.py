"""Asking a program over HTTP, SCGI or at its console, from outside of its namespace."""

from __future__ import annotations

import json
import socket
import time
import xmlrpc.client
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from flashcrowd.client_api import http
from flashcrowd.client_api.client import Gone
from flashcrowd.clients.host_sandbox import HostSandbox, entered

TIMEOUT_S = 5.0
"""For the whole of an answer over SCGI; `http.TIMEOUT_S` is that over HTTP."""


class RpcError(Exception):
    """A program refused a request, or did not answer; the message says which and why."""


class Http:
    """Requests to a program that listens at a place."""

    def __init__(self, place: HostSandbox, port: int, address: str = "127.0.0.1") -> None:
        self._http = http.Http(address, port, within=lambda: entered(place.netns))

    def is_up(self) -> bool:
        """Whether its port has a listener."""
        try:
            self._http.connect()
        except OSError:
            return False
        return True

    def ask(
        self,
        method: str,
        path: str,
        body: bytes | str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> http.Answer:
        """An answer.

        Raises:
            RpcError: there is none.
        """
        try:
            return self._http.ask(method, path, body, headers)
        except Gone as gone:
            raise RpcError(f"{path}: no answer: {gone}") from None

    def close(self) -> None:
        """Close the connection."""
        self._http.close()


def json_rpc(http: Http, path: str, message: Mapping[str, object]) -> dict[str, Any]:
    """The object in the answer to a JSON message; an error may be in it, whatever its status.

    Raises:
        RpcError: there is no answer, or none with an object.
    """
    answer = http.ask("POST", path, json.dumps(message), {"Content-Type": "application/json"})
    try:
        said = json.loads(answer.body)
    except (ValueError, RecursionError):
        said = None
    if not isinstance(said, dict):
        raise RpcError(f"{path}: status {answer.status}, {answer.body[:100]!r}")
    return said


class Scgi:
    """XML-RPC over SCGI on a Unix socket, which belongs to no network namespace."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def is_up(self) -> bool:
        """Whether its port has a listener."""
        try:
            with self._connected():
                return True
        except OSError:
            return False

    def __call__(self, method: str, *arguments: Any) -> Any:
        """Call a method.

        Raises:
            RpcError: it fails, or there is no answer.
        """
        body = xmlrpc.client.dumps(arguments, method).encode()
        # SCGI: the headers as a netstring, the length first.
        fields = f"CONTENT_LENGTH\0{len(body)}\0SCGI\x001\0".encode()
        message = b"%d:%s,%s" % (len(fields), fields, body)
        try:
            ends = time.monotonic() + TIMEOUT_S
            answer = bytearray()
            with self._connected() as connection:
                connection.sendall(message)
                connection.shutdown(socket.SHUT_WR)
                while piece := connection.recv(65536):
                    answer += piece
                    if len(answer) > http.MOST_BYTES:
                        raise OSError("an answer without end")
                    if (left_s := ends - time.monotonic()) <= 0:
                        raise TimeoutError("timed out")
                    connection.settimeout(left_s)
            _, _, text = answer.partition(b"\r\n\r\n")
            (value,), _ = xmlrpc.client.loads(text)
        except xmlrpc.client.Fault as fault:
            raise RpcError(f"{method}: {fault.faultString}") from None
        except (OSError, ValueError, xmlrpc.client.Error) as error:
            raise RpcError(f"{method}: no answer: {error}") from None
        except Exception as error:  # expat's own, which is no subclass of anything
            raise RpcError(f"{method}: an answer that is no XML: {error}") from None
        return value

    def _connected(self) -> socket.socket:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            connection.settimeout(TIMEOUT_S)
            connection.connect(str(self._path))
        except OSError:
            connection.close()
            raise
        return connection


class Telnet:
    """A console over TCP that takes a command a line, as BiglyBT's for telnet.

    It has no word for the end of an answer: that is where the answer to `echo` comes.
    """

    def __init__(self, place: HostSandbox, port: int) -> None:
        self._place, self._port = place, port
        self._connection: socket.socket | None = None
        self._asked = 0

    def is_up(self) -> bool:
        """Whether its port has a listener."""
        try:
            self._connected()
        except OSError:
            return False
        return True

    def __call__(self, command: str) -> str:
        """Everything that it says to a command.

        Raises:
            RpcError: there is no answer.
        """
        self._asked += 1
        end = f"end-of-answer-{self._asked}"
        try:
            connection = self._connected()
            ends = time.monotonic() + TIMEOUT_S
            connection.sendall(f"{command}\necho {end}\n".encode())
            answer = bytearray()
            while end.encode() not in answer:
                if (left_s := ends - time.monotonic()) <= 0:
                    raise TimeoutError("timed out")
                connection.settimeout(left_s)
                # It writes line by line and waits for each to be acknowledged (Nagle's rule).
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)
                piece = connection.recv(65536)
                if not piece:
                    raise OSError("it hung up")
                answer += piece
                if len(answer) > http.MOST_BYTES:
                    raise OSError("an answer without end")
        except OSError as error:
            self.close()
            raise RpcError(f"{command}: no answer: {error}") from None
        said, _, _ = answer.partition(end.encode())
        return said.decode(errors="replace").removesuffix("[")

    def _connected(self) -> socket.socket:
        if self._connection is None:
            with entered(self._place.netns):
                connection = socket.socket()
            try:
                connection.settimeout(TIMEOUT_S)
                connection.connect(("127.0.0.1", self._port))
            except OSError:
                connection.close()
                raise
            self._connection = connection
        return self._connection

    def close(self) -> None:
        """Hang up."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None
