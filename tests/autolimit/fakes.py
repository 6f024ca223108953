"""Servers that play the interface of a client, well or badly."""

from __future__ import annotations

import base64
import json
import shutil
import socketserver
import ssl
import subprocess
import tempfile
import threading
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache, partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest

from flashcrowd.client_api.deluge_rpc import ERROR, HEADER, RESPONSE, VERSION

UPLOADS = 5000
"""Bytes that a client uploads from reading to reading: enough to be limited."""
Answer = tuple[int, dict[str, str], bytes]
"""Status, headers, body."""


class Fake:
    """What all have: a user's limit, alternative speeds, and a mood that may spoil answers."""

    scheme: str

    def __init__(self) -> None:
        self.password = "secret"
        self.alternative = False
        self.uploaded = 0
        self.uploads = UPLOADS
        self.delay = 0.0
        """Seconds after which it follows what it has answered."""
        self.ignores = self.drips = False
        self.dripped = threading.Event()
        """Somebody has had a byte of a head that drips."""
        self.host = "127.0.0.1"
        self.writes: list[Any] = []
        self.mood: Callable[[str, Answer], Answer] = lambda path, answer: answer
        self.port = 0

    @property
    def url(self) -> str:
        return f"{self.scheme}://me@127.0.0.1:{self.port}"

    def answer(self, method: str, path: str, headers: Any, body: bytes) -> Answer:
        raise NotImplementedError

    def follow(self, what: Callable[[], object]) -> None:
        """Does what a write says, now or late, or never."""
        if self.delay and not self.ignores:
            threading.Timer(self.delay, what).start()
        elif not self.ignores:
            what()

    def server(self) -> socketserver.TCPServer:
        """It, at a port of its own."""
        return _http(self)


class FakeTransmission(Fake):
    scheme = "transmission"

    def __init__(self) -> None:
        super().__init__()
        self.session: dict[str, Any] = {
            "version": "3.00 (bb6b5a062e)",
            "rpc-version": 16,
            "speed-limit-up": 100,
            "speed-limit-up-enabled": False,
        }
        self.token = "first"

    def answer(self, method: str, path: str, headers: Any, body: bytes) -> Answer:
        pair = base64.b64encode(f"me:{self.password}".encode()).decode()
        if headers["Authorization"] != f"Basic {pair}":
            return 401, {"WWW-Authenticate": 'Basic realm="Transmission"'}, b"401"
        if path != "/transmission/rpc":
            return 404, {}, b""
        if headers["X-Transmission-Session-Id"] != self.token:
            return 409, {"X-Transmission-Session-Id": self.token}, b"409"
        asked = json.loads(body)
        said: dict[str, Any] = {}
        if asked["method"] == "session-get":
            said = {**self.session, "alt-speed-enabled": self.alternative}
        elif asked["method"] == "session-set":
            self.writes.append(asked["arguments"])
            self.follow(partial(self.session.update, asked["arguments"]))
        elif asked["method"] == "session-stats":
            self.uploaded += self.uploads
            said = {"current-stats": {"uploadedBytes": self.uploaded, "downloadedBytes": 0}}
        elif asked["method"] == "torrent-get":
            said = {"torrents": [{"uploadLimited": True, "honorsSessionLimits": False}]}
        return 200, {}, json.dumps({"result": "success", "arguments": said}).encode()


class FakeQBittorrent(Fake):
    scheme = "qbittorrent"

    def __init__(self) -> None:
        super().__init__()
        self.limits = [51200, 10240]
        self.cookie = "SID=1"
        self.logins = 0

    def answer(self, method: str, path: str, headers: Any, body: bytes) -> Answer:
        form = {name: values[0] for name, values in parse_qs(body.decode()).items()}
        if path == "/api/v2/auth/login":
            self.logins += 1
            if form == {"username": "me", "password": self.password}:
                return 200, {"Set-Cookie": f"{self.cookie}; HttpOnly; path=/"}, b"Ok."
            return 200, {}, b"Fails."
        if headers["Cookie"] != self.cookie:
            return 403, {}, b"Forbidden"
        said = self._said(path.removeprefix("/api/v2/"), form)
        return (404, {}, b"") if said is None else (200, {}, said.encode())

    def _said(self, what: str, form: dict[str, str]) -> str | None:
        in_force = self.limits[self.alternative]
        self.uploaded += self.uploads * (what == "transfer/info")
        if what == "app/setPreferences":
            self.writes.append(given := json.loads(form["json"]))
            limit = given["up_limit"] // 1024 * 1024
            self.follow(partial(self.limits.__setitem__, 0, limit))
        counters = {"up_info_data": self.uploaded, "dl_info_data": 0, "up_rate_limit": in_force}
        return {
            "app/setPreferences": "",
            "app/version": "v4.5.2",
            "app/webapiVersion": "2.8.19",
            "app/preferences": json.dumps({"up_limit": self.limits[0]}),
            "transfer/info": json.dumps(counters),
            "transfer/speedLimitsMode": str(int(self.alternative)),
            "torrents/info": json.dumps([{"up_limit": 5000}, {"up_limit": 0}]),
        }.get(what)


class FakeQBittorrent52(FakeQBittorrent):
    """Version 5.2: where there is nothing to say, it says 204."""

    def answer(self, method: str, path: str, headers: Any, body: bytes) -> Answer:
        status, given, said = super().answer(method, path, headers, body)
        if path == "/api/v2/auth/login":
            return (401, {}, b"") if said == b"Fails." else (204, given, b"")
        return (204, given, b"") if status == 200 and not said else (status, given, said)


class FakeDeluge(Fake):
    """A daemon; one connection at a time."""

    scheme = "deluge"

    def __init__(self) -> None:
        super().__init__()
        self.config: dict[str, Any] = {"max_upload_speed": -1.0}
        self.level = 10
        self.logins = 0
        self.inside = False

    def reply(self, call: Sequence[Any]) -> tuple[Any, ...]:
        """The message that answers a request."""
        number, method, arguments, named = call
        if method == "daemon.login":
            self.logins += 1
            assert named["client_version"]
            if list(arguments) != ["me", self.password]:
                return ERROR, number, "BadLoginError", ("Password does not match",), {}, "trace"
            self.inside = True
            return RESPONSE, number, self.level
        if not self.inside or self.level < 5:
            return ERROR, number, "NotAuthorizedError", (0, 5), {}, "trace"
        return RESPONSE, number, self._said(method, list(arguments))

    def _said(self, method: str, arguments: list[Any]) -> Any:
        if method == "core.set_config":
            self.writes.append(arguments[0])
            self.follow(partial(self.config.update, arguments[0]))
        self.uploaded += self.uploads * (method == "core.get_session_status")
        counters = {"net.sent_payload_bytes": self.uploaded, "net.recv_payload_bytes": 0}
        return {
            "daemon.info": "2.0.3",
            "core.set_config": None,
            "core.get_config_values": dict(self.config),
            "core.get_session_status": counters,
            "core.get_enabled_plugins": ["Label", "Scheduler"] if self.alternative else ["Label"],
            "scheduler.get_state": "Yellow",
            "core.get_torrents_status": {
                "ab" * 20: {"max_upload_speed": 5.5},
                "cd" * 20: {"max_upload_speed": -1.0},
            },
        }[method]

    def server(self) -> socketserver.TCPServer:
        return _tls(self)


DELUGE = pytest.mark.skipif(find_spec("deluge_client") is None, reason="no deluge-client")
FAKES: list[Any] = [
    FakeTransmission,
    FakeQBittorrent,
    FakeQBittorrent52,
    pytest.param(FakeDeluge, marks=DELUGE),
]


@contextmanager
def served(fake: Fake) -> Iterator[Fake]:
    """The fake at a port of its own."""
    server = fake.server()
    fake.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield fake
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class _Quiet:
    """A server to which it is nothing that the other end goes away: some tests are about that."""

    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        pass


class _HttpServer(_Quiet, ThreadingHTTPServer):
    pass


class _TcpServer(_Quiet, socketserver.ThreadingTCPServer):
    pass


def _http(fake: Fake) -> socketserver.TCPServer:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _handle(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"] or 0))
            answer = fake.answer(self.command, self.path, self.headers, body)
            try:
                status, headers, said = fake.mood(self.path, answer)
            except ConnectionError:
                self.close_connection = True
                return
            while fake.drips:
                time.sleep(0.3)
                self.wfile.write(b"H")
                fake.dripped.set()
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            if status != 204:
                self.send_header("Content-Length", str(len(said)))
            self.end_headers()
            self.wfile.write(said)

        do_GET = do_POST = _handle

        def log_message(self, format: str, *args: Any) -> None:
            pass

    return _HttpServer((fake.host, 0), Handler)


def framed(value: Any) -> bytes:
    """A message of Deluge's daemon."""
    body = zlib.compress(import_module("deluge_client.rencode").dumps(value, 64))
    return HEADER.pack(VERSION, len(body)) + body


@cache
def _context() -> ssl.SSLContext:
    """A certificate that nobody signed, as the daemon's."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.TemporaryDirectory() as folder:
        both = str(Path(folder) / "both.pem")
        words = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2"
        named = ["-subj", "/CN=Deluge Daemon", "-keyout", both, "-out", f"{both}.crt"]
        subprocess.run([*words.split(), *named], check=True, capture_output=True)
        context.load_cert_chain(f"{both}.crt", both)
    return context


def _tls(fake: FakeDeluge) -> socketserver.TCPServer:
    loads = import_module("deluge_client.rencode").loads

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            with _context().wrap_socket(self.request, server_side=True) as connected:
                fake.inside = False
                reader = connected.makefile("rb")
                while len(header := reader.read(HEADER.size)) == HEADER.size:
                    body = zlib.decompress(reader.read(HEADER.unpack(header)[1]))
                    for call in loads(body, decode_utf8=True):
                        answer = 200, {}, framed(fake.reply(call))
                        connected.sendall(fake.mood(call[1], answer)[2])

    return _TcpServer(("127.0.0.1", 0), Handler)


def dead(path: str, answer: Answer) -> Answer:
    """Cuts the connection."""
    raise ConnectionResetError


def late(path: str, answer: Answer) -> Answer:
    """Answers after more than anybody waits in these tests."""
    time.sleep(1.0)
    return answer
