"""Connections: kept, given up, through proxies, and what TLS says about their end."""

import contextlib
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.download.servers import Behaviour, content, replying, serving
from tests.download.test_command import certificate
from tests.download.test_download import Call

import flashcrowd
from flashcrowd.download import FetchError, Unusable
from flashcrowd.http.nested import Nested

DATA = content(10_000)
HEAD = b"HTTP/1.1 200 OK\r\n"


@contextmanager
def accepting(serve: Callable[[socket.socket], None]) -> Iterator[int]:
    """The port of a server that gives each connection to a function, in a thread of its own."""
    listener = socket.create_server(("127.0.0.1", 0))

    def run() -> None:
        with contextlib.suppress(OSError):
            while True:
                threading.Thread(target=one, args=(listener.accept()[0],), daemon=True).start()

    def one(connection: socket.socket) -> None:
        with contextlib.suppress(OSError), connection:
            serve(connection)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield listener.getsockname()[1]
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join()


@pytest.mark.parametrize("line", [b"", b"Connection: x, close\r\n"])
def test_one_connection_for_all_that_is_asked(line, tmp_path):
    connections = []

    def serve(connection: socket.socket) -> None:
        connections.append(connection)
        while request := connection.recv(65536):
            connection.sendall(HEAD + line + b"Content-Length: 10000\r\n\r\n")
            if request.startswith(b"GET"):
                connection.sendall(DATA)

    with accepting(serve) as port:
        flashcrowd.fetch(f"http://127.0.0.1:{port}/file", tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == DATA
    assert len(connections) == (2 if line else 1)


@pytest.mark.parametrize("more", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nbad"])
def test_a_connection_that_ends_or_says_too_much_meanwhile_is_no_failure(more, tmp_path):
    def serve(connection: socket.socket) -> None:
        request = connection.recv(65536)
        get = request.startswith(b"GET")
        answer = HEAD + b"Content-Length: 10000\r\n\r\n" + (DATA if get else more)
        connection.sendall(answer)
        if more or get:
            connection.recv(65536)
        # Otherwise it closes when the next request may be on its way.

    with accepting(serve) as port:
        call = Call(f"http://127.0.0.1:{port}/file", tmp_path / "file")
        assert call.run().retries == 0
    assert (tmp_path / "file").read_bytes() == DATA


@pytest.mark.parametrize(
    "pieces",
    [
        [bytes([it]) for it in HEAD + b"X: y\r\n" * 1000],
        [b"HTTP/1.1 100 Continue\r\n\r\n"] * 1000,
    ],
)
def test_a_head_that_drips_is_given_up(pieces: list[bytes], tmp_path: Path):
    def serve(connection: socket.socket) -> None:
        connection.recv(65536)
        for each in pieces:
            connection.sendall(each)
            time.sleep(0.05)

    with accepting(serve) as port:
        begin = time.monotonic()
        with pytest.raises(FetchError, match="nothing came for too long"):
            flashcrowd.fetch(
                f"http://127.0.0.1:{port}/file", tmp_path / "file", tries=1, timeout_s=0.3
            )
        assert time.monotonic() - begin < 5


@pytest.fixture(scope="module")
def tls(tmp_path_factory: pytest.TempPathFactory) -> tuple[ssl.SSLContext, Path]:
    """TLS of a server, and the file with its certificate."""
    folder = tmp_path_factory.mktemp("tls")
    try:
        pem = certificate(folder)
    except FileNotFoundError:
        pytest.skip("openssl is not installed")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem)
    return context, folder / "crt"


@pytest.mark.parametrize("ends", [True, False])
def test_tls_tells_an_end_from_a_cut(ends, tls, tmp_path):
    def serve(connection: socket.socket) -> None:
        with tls[0].wrap_socket(connection, server_side=True) as secure:
            get = secure.recv(65536).startswith(b"GET")
            secure.sendall(HEAD + b"\r\n" + (DATA if get else b""))
            if ends:
                secure.unwrap()

    with accepting(serve) as port:
        url = f"https://127.0.0.1:{port}/file"
        if ends:
            fetched = flashcrowd.fetch(url, tmp_path / "file", ca=tls[1])
            assert (fetched.bytes, (tmp_path / "file").read_bytes()) == (10_000, DATA)
        else:
            with pytest.raises(FetchError, match="the connection broke off"):
                flashcrowd.fetch(url, tmp_path / "file", ca=tls[1], tries=1)
            assert list(tmp_path.iterdir()) == []


def proxying(answer: bytes, tls: ssl.SSLContext | None, seen: list[bytes]):
    """A proxy that answers CONNECT so, and hands on; it speaks TLS itself if it is given one."""

    def serve(connection: socket.socket) -> None:
        if tls is None:
            through(connection)
        else:
            with tls.wrap_socket(connection, server_side=True) as secure:
                through(secure)

    def through(connection: socket.socket) -> None:
        asked = b""
        while not asked.endswith(b"\r\n\r\n"):
            asked += connection.recv(1)
        seen.append(asked)
        connection.sendall(answer)
        port = int(asked.split()[1].rpartition(b":")[2])
        with socket.create_connection(("127.0.0.1", port)) as far:
            back = threading.Thread(target=hand_on, args=(far, connection))
            back.start()
            hand_on(connection, far)
            back.join()

    def hand_on(one: socket.socket, other: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := one.recv(65536):
                other.sendall(data)
            other.shutdown(socket.SHUT_WR)

    return serve


@pytest.mark.parametrize("secure", [False, True], ids=["http", "https"])
def test_https_by_a_proxy(secure, tls, tmp_path, monkeypatch):
    seen: list[bytes] = []
    answer = b"HTTP/1.1 100 x\r\n\r\nHTTP/1.0 204 Yes\r\nX: y\r\n" + b"Z: z\r\n" * 200 + b"\r\n"
    monkeypatch.setenv("SSL_CERT_FILE", str(tls[1]))
    with serving(Behaviour(data=DATA)) as server:
        server.socket = tls[0].wrap_socket(server.socket, server_side=True)
        with accepting(proxying(answer, tls[0] if secure else None, seen)) as port:
            scheme = "https" if secure else "http"
            monkeypatch.setenv("https_proxy", f"{scheme}://me:secret@127.0.0.1:{port}")
            fetched = flashcrowd.fetch(server.url.replace("http:", "https:"), tmp_path / "file")
            place = server.url.split("/")[2].encode()
    assert (fetched.bytes, (tmp_path / "file").read_bytes()) == (10_000, DATA)
    assert len(seen) == 1
    assert seen[0].startswith(b"CONNECT %b HTTP/1.1\r\nHost: %b\r\n" % (place, place))
    assert b"Proxy-Authorization: Basic bWU6c2VjcmV0\r\n" in seen[0]


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (b"HTTP/1.1 407 x\r\n\r\n", "the proxy asks who you are"),
        (b"HTTP/1.1 503 x\r\n\r\n", "the proxy: it answers 503"),
        (b"HTTP/1.1 301 x\r\nLocation: /\r\n\r\n", "the proxy: it answers 301"),
        (b"HTTP/1.1 200 x\r\nno field\r\n\r\n", "the proxy: the server's head has a line that is"),
        (b"HTTP/1.1 200 x\r\n\r\nHTTP/1.1", "the proxy: it sends something before the server can"),
        (b"", "the proxy: the connection broke off"),
    ],
)
def test_what_a_proxy_refuses_is_said(answer, why, tmp_path, monkeypatch):
    def serve(connection: socket.socket) -> None:
        connection.recv(65536)
        connection.sendall(answer)

    with accepting(serve) as port:
        monkeypatch.setenv("https_proxy", f"127.0.0.1:{port}")
        with pytest.raises(FetchError, match=why) as caught:
            flashcrowd.fetch("https://mirror.invalid/file", tmp_path / "file", tries=1)
    assert isinstance(caught.value, Unusable) == (b"407" in answer)


def test_a_proxy_that_is_none(tmp_path, monkeypatch):
    monkeypatch.setenv("http_proxy", "socks5://127.0.0.1:1")
    with pytest.raises(Unusable, match="http_proxy: is no proxy"):
        flashcrowd.fetch("http://mirror.invalid/file", tmp_path / "file")


def test_an_address_is_sent_as_it_is_encoded_once(tmp_path):
    targets = []

    def reply(method: str, target: str, fields: dict[str, str]) -> bytes:
        targets.append((target, fields["host"].partition(":")[0]))
        return HEAD + b"Content-Length: 10000\r\n\r\n" + (DATA if method == "GET" else b"")

    with replying(reply) as url:
        for path in ("/é", "/%C3%A9", "/a/./b/../é?é=%20&x=|#é"):
            flashcrowd.fetch(url.replace("/file", path), tmp_path / "x", overwrite=True)
        flashcrowd.fetch(url.replace("127.0.0.1", "LOCALHOST"), tmp_path / "x", overwrite=True)
    assert [it for it, _ in targets[::2]] == [
        *("/%C3%A9", "/%C3%A9", "/a/%C3%A9?%C3%A9=%20&x=%7C", "/file"),
    ]
    assert targets[-1][1] == "localhost"


class Dripping:
    """The outer connection of one within TLS: a record that never ends, byte by byte."""

    said = iter(b"\x16\x03\x03\x40\x00" + bytes(16 << 10))

    def gettimeout(self) -> float:
        return 0.3

    def settimeout(self, seconds: float) -> None:
        pass

    def sendall(self, data: bytes) -> None:
        pass

    def recv(self, most: int) -> bytes:
        time.sleep(0.01)
        return bytes([next(self.said)])


def test_tls_in_tls_that_drips_ends_in_time():
    began = time.monotonic()
    with pytest.raises(TimeoutError):
        Nested(Dripping(), ssl.create_default_context(), "host")  # type: ignore[arg-type]
    assert time.monotonic() - began < 5
