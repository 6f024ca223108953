"""Answers of a client's interface: soon as a whole, or none; every success is one."""

from __future__ import annotations

import contextlib
import itertools
import socket
import threading
import time
from collections.abc import Callable, Iterable

import pytest
from tests.download.test_connection import accepting

from flashcrowd.client_api import http
from flashcrowd.client_api.client import Gone
from flashcrowd.client_api.http import Http
from flashcrowd.clients import rpc
from flashcrowd.clients.host_sandbox import HostSandbox
from flashcrowd.clients.qbittorrent import QBittorrent

OK = b"HTTP/1.1 200 OK\r\n"


def dripping(head: bytes, drops: Iterable[bytes]) -> Callable[[socket.socket], None]:
    """A server that begins with `head` and goes on drop by drop, as long as it is heard."""

    def serve(connection: socket.socket) -> None:
        while connection.recv(65536):
            connection.sendall(head)
            for drop in drops:
                time.sleep(0.02)
                connection.sendall(drop)

    return serve


ENDLESS = {
    "nothing": lambda connection: time.sleep(3),
    "status": dripping(b"HTTP/1.1 200 ", itertools.repeat(b"a")),
    "head": dripping(OK + b"X: ", itertools.repeat(b"a")),
    "lines": dripping(OK, itertools.repeat(b"X: a\r\n")),
    "interim": dripping(b"", itertools.repeat(b"HTTP/1.1 102 Processing\r\n\r\n")),
    "body": dripping(OK + b"Content-Length: 100000\r\n\r\n", itertools.repeat(b"a")),
    "chunks": dripping(OK + b"Transfer-Encoding: chunked\r\n\r\n", itertools.repeat(b"1\r\na\r\n")),
    "size": dripping(OK + b"Transfer-Encoding: chunked\r\n\r\n1;", itertools.repeat(b"a")),
    "close": dripping(OK + b"\r\n", itertools.repeat(b"a")),
}


@pytest.mark.parametrize("serve", ENDLESS.values(), ids=ENDLESS)
def test_an_answer_that_drips_is_none_when_its_time_is_over(
    serve: Callable[[socket.socket], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http, "TIMEOUT_S", 0.4)
    with accepting(serve) as port:
        for ask in (
            lambda: Http("127.0.0.1", port).ask("GET", "/"),
            lambda: rpc.Http(HostSandbox("here", "127.0.0.1"), port).ask("GET", "/"),
        ):
            began = time.monotonic()
            with pytest.raises((Gone, rpc.RpcError), match="no answer in time"):
                ask()
            assert 0.3 < time.monotonic() - began < 5


def test_an_answer_is_broken_off_from_another_thread() -> None:
    with accepting(ENDLESS["head"]) as port:
        asked = Http("127.0.0.1", port)
        threading.Timer(0.3, asked.abort).start()
        began = time.monotonic()
        with pytest.raises(Gone):
            asked.ask("GET", "/")
        # It is not asked once more, although the connection was cut.
        assert time.monotonic() - began < 4


@pytest.mark.parametrize(
    "said",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 204 No Content\r\n\r\n",
        b"HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n",
        b"HTTP/1.1 299 ?\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    ],
)
def test_every_success_is_one_and_its_connection_is_kept(said: bytes) -> None:
    connections = []

    def serve(connection: socket.socket) -> None:
        connections.append(connection)
        while connection.recv(65536):
            connection.sendall(said)

    with accepting(serve) as port:
        asked = Http("localhost", port)
        for _ in range(3):
            answer = asked.ask("POST", "/", "a=b")
            assert answer.succeeded
            assert answer.body == b""
        assert len(connections) == 1
        asked.close()


def test_a_kept_connection_that_was_closed_is_opened_again() -> None:
    asked_for: list[bytes] = []

    def serve(connection: socket.socket) -> None:
        asked_for.append(connection.recv(65536))
        connection.sendall(OK + b"Content-Length: 2\r\n\r\nOk")
        # It answers one request a connection, and does not say so: the next one meets its end.
        if len(asked_for) % 2:
            connection.recv(1)

    with accepting(serve) as port:
        asked = Http("127.0.0.1", port)
        assert [asked.ask("POST", f"/{turn}", b"x").body for turn in range(4)] == [b"Ok"] * 4
        asked.close()
    assert [it.split()[1] for it in asked_for] == [b"/0", b"/1", b"/2", b"/3"]


def test_an_answer_without_end_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "MOST_BYTES", 1000)

    def serve(connection: socket.socket) -> None:
        connection.recv(65536)
        with contextlib.suppress(OSError):
            connection.sendall(OK + b"Content-Length: 100000\r\n\r\n" + bytes(100_000))

    with accepting(serve) as port, pytest.raises(Gone, match="without end"):
        Http("127.0.0.1", port).ask("GET", "/")


def test_this_machine_is_known_by_all_its_names() -> None:
    def serve(connection: socket.socket) -> None:
        while connection.recv(65536):
            connection.sendall(OK + b"Content-Length: 0\r\n\r\n")

    with accepting(serve) as port:
        asked = Http("127.0.0.1", port)
        asked.ask("GET", "/")
        assert asked.peer == "localhost"
        asked.close()


def test_a_qbittorrent_of_the_emulation_may_have_nothing_to_say() -> None:
    """Version 5.2 answers 204, and knows other names than 4.x for stopping."""
    asked_for: list[bytes] = []

    def serve(connection: socket.socket) -> None:
        while request := connection.recv(65536):
            asked_for.append(request.split()[1])
            version = b"Content-Length: 6\r\n\r\nv5.2.0"
            known = request.startswith(b"GET /api/v2/app/version")
            connection.sendall(OK + version if known else b"HTTP/1.1 204 No Content\r\n\r\n")

    with accepting(serve) as port:
        client = object.__new__(QBittorrent)  # without its process
        client._http = rpc.Http(HostSandbox("here", "127.0.0.1"), port)
        client._hash = "ab"
        client._post("app/setPreferences", json="{}")
        client.drop()
        client._http.close()
    assert asked_for[0] == b"/api/v2/app/setPreferences"
    assert asked_for[-1] == b"/api/v2/torrents/stop"
