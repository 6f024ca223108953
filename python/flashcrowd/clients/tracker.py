"""The tracker that answers as a plan says: HTTP (BEP 3), compact answers (BEP 23)."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import TCPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from flashcrowd.clients import bencode
from flashcrowd.clients.place import Place, entered
from flashcrowd.clients.random_stream import RandomStream

Address = tuple[str, int]


@dataclass(frozen=True)
class Rules:
    """How a tracker answers; the names are those of a plan's `tracker.rules`, times in seconds.

    Attributes:
        interval: when clients are to ask again.
        default_peers: peers in an answer to a client that names no number.
        max_peers: peers in an answer at most.
        reshuffle: how long the lists live from which answers are dealt; 0 for one answer.
        seeds_to_seeds: whether seeds are told to seeds.
        forget: a peer that has not announced for this long is forgotten.
        answer_delay: what an answer takes besides the way.
    """

    interval: float = 1800.0
    default_peers: int = 50
    max_peers: int = 200
    reshuffle: float = 600.0
    seeds_to_seeds: bool = False
    forget: float = 2700.0
    answer_delay: float = 0.0

    @classmethod
    def of(cls, tracker: Mapping[str, Any]) -> Rules:
        """The rules of a plan's tracker."""
        rules = tracker["rules"]
        return cls(
            interval=rules["interval_ns"] / 1e9,
            default_peers=rules["default_peers"],
            max_peers=rules["max_peers"],
            reshuffle=rules["reshuffle_ns"] / 1e9,
            seeds_to_seeds=rules["seeds_to_seeds"],
            forget=rules["forget_ns"] / 1e9,
            answer_delay=tracker["answer_delay_ns"] / 1e9,
        )


@dataclass
class _Lists:
    made: float
    leechers: list[Address]
    seeds: list[Address]


class Register:
    """Who is in a swarm, and whom to tell of whom: the rules of the simulation's tracker.

    Answers are dealt from shuffled lists, which live until they are used up or too old; leechers
    and seeds are mixed in proportion. `Tracker` of the crate `swarm` is the original.
    """

    def __init__(self, rules: Rules, stream: RandomStream) -> None:
        self._rules = rules
        self._stream = stream
        self._members: dict[Address, tuple[bool, float]] = {}
        self._lists: _Lists | None = None
        self._swept = 0.0

    def counts(self) -> tuple[int, int]:
        """Seeds and leechers that it knows."""
        seeds = sum(seed for seed, _ in self._members.values())
        return seeds, len(self._members) - seeds

    def announce(
        self, now: float, peer: Address, *, stopped: bool, seed: bool, wanted: int | None
    ) -> list[Address]:
        """A peer announces itself and gets others."""
        if now - self._swept >= self._rules.forget:
            self._swept = now
            known = self._members.items()
            self._members = {it: of for it, of in known if now - of[1] <= self._rules.forget}
        self._members.pop(peer, None)
        if stopped:
            return []
        self._members[peer] = (seed, now)
        if wanted is None or wanted < 0:
            wanted = self._rules.default_peers
        wanted = min(wanted, self._rules.max_peers)
        if not wanted:
            return []
        dealt = self._deal(now, wanted, seed and not self._rules.seeds_to_seeds)
        return [other for other in dealt if other != peer]

    def _deal(self, now: float, wanted: int, leechers_only: bool) -> list[Address]:
        _, leechers = self.counts()
        share = wanted * leechers // max(len(self._members), 1)
        lists = self._lists
        usable = (
            lists is not None
            and now - lists.made <= self._rules.reshuffle
            and not (leechers_only and len(lists.leechers) < wanted)
            and len(lists.leechers) >= share
            and bool(lists.leechers)
        )
        if lists is None or not usable:
            lists = self._lists = self._shuffled(now)
        peers: list[Address] = []
        if len(lists.leechers) < share:
            peers += lists.leechers
            lists.leechers = []
            if not leechers_only:
                peers += lists.seeds
            lists.seeds = []
        else:
            if not leechers_only:
                peers += _take(lists.seeds, wanted - share)
            peers += _take(lists.leechers, wanted - len(peers))
        return peers

    def _shuffled(self, now: float) -> _Lists:
        order = sorted(self._members.items())
        lists = _Lists(
            now,
            [peer for peer, (seed, _) in order if not seed],
            [peer for peer, (seed, _) in order if seed],
        )
        self._stream.shuffle(lists.leechers)
        self._stream.shuffle(lists.seeds)
        return lists


def _take(items: list[Address], count: int) -> list[Address]:
    place = max(len(items) - count, 0)
    taken = items[place:]
    del items[place:]
    return taken


class Tracker:
    """A tracker that listens from its construction on, in a thread of this process."""

    program = "flashcrowd"
    pid = None

    def __init__(
        self, place: Place, port: int, rules: Rules, info_hash: bytes, stream: RandomStream
    ) -> None:
        """Listen at a place.

        Raises:
            OSError: it cannot listen there.
        """
        self._register = Register(rules, stream)
        self._lock = threading.Lock()
        self.announces = 0
        with entered(place.netns):
            # It listens when this returns; its socket stays where it was opened.
            self._server = _Server((place.address, port), _handler(self, rules, info_hash))
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True
        )
        self._thread.start()
        self.url = f"http://{place.address}:{port}/announce"

    def counts(self) -> tuple[int, int]:
        """Seeds and leechers that it knows."""
        with self._lock:
            return self._register.counts()

    def announce(self, peer: Address, query: Mapping[str, str]) -> list[Address]:
        """A peer announces itself with the parameters of its query."""
        wanted = query.get("numwant")
        with self._lock:
            self.announces += 1
            return self._register.announce(
                time.monotonic(),
                peer,
                stopped=query.get("event") == "stopped",
                seed=query.get("left") == "0",
                wanted=None if wanted is None else int(wanted),
            )

    def failure(self) -> str:
        """Why it answers no more; empty while it does."""
        return "" if self._thread.is_alive() else "its thread has ended"

    def close(self) -> None:
        """Answer nobody any more."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    # All peers of a flash crowd ask within moments.
    request_queue_size = 1024

    def server_bind(self) -> None:
        """Bind, and look up no name of the address: in a namespace nobody answers."""
        TCPServer.server_bind(self)
        host, port = self.server_address[:2]
        self.server_name, self.server_port = str(host), int(port)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went before its answer came is nobody's fault."""


def _handler(tracker: Tracker, rules: Rules, info_hash: bytes) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        timeout = 60.0

        def do_GET(self) -> None:
            url = urlsplit(self.path)
            # Bytes as Latin-1: an info-hash is no text.
            query = dict(parse_qsl(url.query, keep_blank_values=True, encoding="latin-1"))
            body, status = self._answer(url.path, query)
            if rules.answer_delay:
                time.sleep(rules.answer_delay)
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
                peer = (self.client_address[0], int(query["port"]))
                peers = tracker.announce(peer, query)
            except (KeyError, ValueError):
                return bencode.encode({"failure reason": "no number where one is due"}), 200
            seeds, leechers = tracker.counts()
            answer: bencode.Value = {
                "interval": round(rules.interval),
                "complete": seeds,
                "incomplete": leechers,
                "peers": b"".join(map(_compact, peers)),
            }
            return bencode.encode(answer), 200

        def log_message(self, format: str, *args: Any) -> None:
            pass

    return Handler


def _compact(peer: Address) -> bytes:
    return socket.inet_aton(peer[0]) + peer[1].to_bytes(2, "big")
