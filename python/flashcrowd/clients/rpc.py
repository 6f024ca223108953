"""Asking a program: JSON and forms over HTTP, XML over SCGI, from outside of its namespace."""

from __future__ import annotations

import http.client
import json
import socket
import xmlrpc.client
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from flashcrowd.clients.place import Place, entered

TIMEOUT_S = 5.0


class RpcError(Exception):
    """A program refused a request, or did not answer; the message says which and why."""


class Http:
    """Requests to a program that listens at a place."""

    def __init__(self, place: Place, port: int, address: str = "127.0.0.1") -> None:
        self._place = place
        self._connection = http.client.HTTPConnection(address, port, timeout=TIMEOUT_S)

    def is_up(self) -> bool:
        """Whether anybody listens there."""
        try:
            self._connect()
        except OSError:
            return False
        return True

    def ask(
        self,
        method: str,
        path: str,
        body: bytes | str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> tuple[int, Mapping[str, str], bytes]:
        """Status, headers and body of an answer.

        Raises:
            RpcError: there is none.
        """
        for attempt in (1, 2):
            try:
                self._connect()
                self._connection.request(method, path, body, dict(headers or {}))
                answer = self._connection.getresponse()
                return answer.status, dict(answer.getheaders()), answer.read()
            except (OSError, http.client.HTTPException) as error:
                # A connection that was kept may have been closed meanwhile: once more.
                self._connection.close()
                if attempt == 2 or isinstance(error, TimeoutError):
                    raise RpcError(f"{path}: no answer: {error or type(error).__name__}") from None
        raise AssertionError("both attempts return or raise")

    def _connect(self) -> None:
        if self._connection.sock is None:
            with entered(self._place.netns):
                self._connection.connect()

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


def json_rpc(http: Http, path: str, message: Mapping[str, Any], **headers: str) -> tuple[int, Any]:
    """Status and JSON of the answer to a JSON message.

    Raises:
        RpcError: there is no answer, or it is no JSON.
    """
    given = {"Content-Type": "application/json", **headers}
    status, _, body = http.ask("POST", path, json.dumps(message), given)
    try:
        return status, json.loads(body) if body else None
    except ValueError:
        raise RpcError(f"{path}: status {status}, {body[:100]!r}") from None


class Scgi:
    """XML-RPC over SCGI on a Unix socket, which belongs to no network namespace."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def is_up(self) -> bool:
        """Whether anybody listens there."""
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
            with self._connected() as connection:
                connection.sendall(message)
                connection.shutdown(socket.SHUT_WR)
                answer = b"".join(iter(lambda: connection.recv(65536), b""))
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
