"""The tracker that answers as a plan says: HTTP (BEP 3), compact answers (BEP 23)."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import TCPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from flashcrowd import _core
from flashcrowd.clients import bencode
from flashcrowd.clients.host_sandbox import HostSandbox, entered
from flashcrowd.plan.types import Tracker as TrackerTable

Address = tuple[str, int]
_MOST_WANTED = (1 << 31) - 1
"""A larger `numwant` is none. Some clients say -1 for as many as the tracker likes."""


class Tracker:
    """A tracker that listens from its construction on, in a thread of this process."""

    program = "flashcrowd"
    pid = None

    def __init__(
        self,
        place: HostSandbox,
        port: int,
        spec: TrackerTable,
        info_hash: bytes,
        register: _core.TrackerRegister,
    ) -> None:
        """Listen at a place.

        Args:
            place: where.
            port: at which port.
            spec: the tracker of a plan's swarm.
            info_hash: the torrent's.
            register: the swarm's peers, and which of them an answer names.

        Raises:
            OSError: it cannot listen there.
        """
        self._register = register
        self._lock = threading.Lock()
        self._numbers: dict[Address, int] = {}
        self._addresses: list[Address] = []
        self._stopped: set[Address] = set()
        self.announces = 0
        with entered(place.netns):
            # It listens when this returns; its socket stays where it was opened.
            self._server = _Server((place.address, port), _handler(self, spec, info_hash))
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True
        )
        self._thread.start()
        self.url = f"http://{place.address}:{port}/announce"

    def counts(self) -> tuple[int, int]:
        """Seeds and leechers that it knows."""
        return self._register.counts()

    def knows(self, peer: Address) -> bool:
        """Whether a peer has announced itself, and not `stopped` since."""
        with self._lock:
            return peer in self._numbers and peer not in self._stopped

    def announce(self, peer: Address, query: Mapping[str, str]) -> list[Address]:
        """A peer announces itself with the parameters of its query.

        Raises:
            ValueError: it asks for what is no number of peers.
        """
        wanted = _number(query["numwant"], -1, _MOST_WANTED) if "numwant" in query else None
        with self._lock:
            self.announces += 1
            number = self._numbers.setdefault(peer, len(self._addresses))
            if number == len(self._addresses):
                self._addresses.append(peer)
            if stopped := query.get("event") == "stopped":
                self._stopped.add(peer)
            else:
                self._stopped.discard(peer)
            others = self._register.announce(
                time.monotonic(),
                number,
                stopped=stopped,
                seed=query.get("left") == "0",
                wanted=wanted,
            )
            return [self._addresses[other] for other in others]

    def failure(self) -> str:
        """Why it answers no more; empty while it does."""
        return "" if self._thread.is_alive() else "its thread has ended"

    def close(self) -> None:
        """Stop answering."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    # All peers of a flash crowd ask within moments.
    request_queue_size = 1024

    def server_bind(self) -> None:
        """Bind, and look up no name of the address: a namespace has no resolver."""
        TCPServer.server_bind(self)
        host, port = self.server_address[:2]
        self.server_name, self.server_port = str(host), int(port)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that disconnects before its answer comes is no error."""


def _handler(
    tracker: Tracker, spec: TrackerTable, info_hash: bytes
) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        timeout = 60.0

        def do_GET(self) -> None:
            url = urlsplit(self.path)
            # Bytes as Latin-1: an info-hash is no text.
            query = dict(parse_qsl(url.query, keep_blank_values=True, encoding="latin-1"))
            body, status = self._answer(url.path, query)
            time.sleep(spec["answer_delay_ns"] / 1e9)
            self.send_response(status)
            self.send_header("Content-Type", "text/plain")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def _answer(self, path: str, query: Mapping[str, str]) -> tuple[bytes, int]:
            if path != "/announce":
                return b"", 404
            if query.get("info_hash", "").encode("latin-1") != info_hash:
                return bencode.encode({"failure reason": "unknown torrent"}), 200
            try:
                peer = (self.client_address[0], _number(query["port"], 1, 65535))
                peers = tracker.announce(peer, query)
            except (KeyError, ValueError):
                return bencode.encode({"failure reason": "no number where one is due"}), 200
            seeds, leechers = tracker.counts()
            answer: bencode.Value = {
                "interval": round(spec["rules"]["interval_ns"] / 1e9),
                "complete": seeds,
                "incomplete": leechers,
                "peers": b"".join(map(_compact, peers)),
            }
            return bencode.encode(answer), 200

        def log_message(self, format: str, *args: Any) -> None:
            pass

    return Handler


def _number(text: str, least: int, most: int) -> int:
    if not least <= (number := int(text)) <= most:
        raise ValueError(f"{number} is not from {least} to {most}")
    return number


def _compact(peer: Address) -> bytes:
    return socket.inet_aton(peer[0]) + peer[1].to_bytes(2, "big")
