"""HTTP servers of the tests: ordinary ones, one that reorders, and ones that misbehave."""

from __future__ import annotations

import contextlib
import hashlib
import json
import random
import socket
import threading
import time
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

BLOCK = 64 << 10
draw = random.Random(3)
DATE = "Sat, 21 Nov 2020 10:00:00 GMT"


def content(size: int, seed: int = 1) -> bytes:
    """Bytes of which no two blocks are alike."""
    return random.Random(seed).randbytes(size)


@dataclass
class Behaviour:
    """What a server has and does; it may be changed while it serves."""

    data: bytes = b""
    etag: str = '"v1"'
    date: str = ""
    ranges: bool = True
    reorders: bool = False
    digests: bool = False
    computing: int = 0
    """So many requests for digests are answered 202 first."""
    repr_digest: bool = False
    head: int = 200
    cuts: list[int] = field(default_factory=list)
    """Bodies that are cut after so many bytes of the file, one after the other."""
    flips: list[int] = field(default_factory=list)
    """Positions in the file of a byte that is wrong the next time it is sent."""
    rate: float = 0.0
    """Bytes a second; 0: as fast as it goes."""
    piece: int = BLOCK
    """Bytes that are sent at a time, at most."""
    chunked: bool = False
    chunked_ranges: bool = False
    """Answers with one range are chunked."""
    says_less: int = 0
    """An answer with one range says that it has so many bytes fewer, and has others instead."""
    excess: int = 0
    """Bytes that an answer with one range has beyond those that it says."""
    statuses: list[int] = field(default_factory=list)
    """What the next GETs are answered with, without a body."""
    retry_after: str = ""
    refuses_several: int = 0
    """The status with which requests for several ranges are refused."""
    refuses_pull: int = 0
    """The status with which requests for one part, whichever it is, are refused."""
    resident: list[tuple[int, int]] = field(default_factory=list)
    """What it says to have in memory, to those who like to hear it."""
    silent_ranges: bool = False
    """Ranges are said to be taken, and are ignored."""
    seen: list[tuple[str, str, dict[str, str]]] = field(default_factory=list)
    """Method, target and fields of each request."""
    extra: dict[str, str] = field(default_factory=dict)
    on_get: list = field(default_factory=list)
    """Each is called once, before a GET of the file is answered."""

    def gets(self) -> list[dict[str, str]]:
        """The fields of the requests for the file."""
        return [it for method, target, it in self.seen if method == "GET" and "?" not in target]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Server  # pyright: ignore[reportIncompatibleVariableOverride]

    def log_message(self, format: str, *args: object) -> None:
        pass

    def do_HEAD(self) -> None:
        self._answer()

    def do_GET(self) -> None:
        self._answer()

    def _answer(self) -> None:
        does = self.server.does
        asked = {name.lower(): value for name, value in self.headers.items()}
        does.seen.append((self.command, self.path, asked))
        if self.path.endswith("?digests"):
            self._digests()
            return
        if self.command == "HEAD" and does.head != 200:
            self._empty(does.head)
            return
        if self.command == "GET":
            if does.on_get:
                does.on_get.pop(0)()
            if does.statuses:
                self._empty(does.statuses.pop(0))
                return
        fields = {**does.extra}
        if does.etag:
            fields["ETag"] = does.etag
        if does.date:
            fields["Last-Modified"] = does.date
        if does.ranges:
            fields["Accept-Ranges"] = "bytes"
        if does.reorders:
            fields["Vary"] = "Prefer"
        if does.digests:
            fields["Link"] = '</file?digests>; rel="describedby"; type="application/json"'
        if does.repr_digest:
            digest = b64encode(hashlib.sha256(does.data).digest()).decode()
            fields["Repr-Digest"] = f"sha-256=:{digest}:"
        if does.resident and "resident-ranges" in asked.get("prefer", ""):
            texts = [f"{start}-{end - 1}" for start, end in does.resident]
            fields["Resident-Ranges"] = f"bytes={','.join(texts)}"
        runs = self._runs(asked) if self.command == "GET" else None
        if runs == []:
            self._empty(416, {"Content-Range": f"bytes */{len(does.data)}"})
        elif runs is None:
            self._whole(fields)
        elif len(runs) > 1 and does.refuses_several:
            self._empty(does.refuses_several)
        elif does.refuses_pull and "parts=1" in asked.get("prefer", ""):
            self._empty(does.refuses_pull)
        elif does.reorders and "parts=1" in asked.get("prefer", ""):
            start, end = draw.choice(self._blocks(runs))
            fields["Preference-Applied"] = "part-order=any"
            fields["Content-Range"] = f"bytes {start}-{end - 1}/{len(does.data)}"
            fields["Content-Length"] = str(end - start)
            self._head(206, fields)
            self._send(start, end)
        elif does.reorders and "part-order=any" in asked.get("prefer", ""):
            self._any_order(fields, runs)
        elif len(runs) == 1:
            start, end = runs[0]
            less = does.says_less if does.says_less < end - start else 0
            end -= less
            excess = bytes(less + does.excess)
            fields["Content-Range"] = f"bytes {start}-{end - 1}/{len(does.data)}"
            if does.chunked_ranges:
                fields["Transfer-Encoding"] = "chunked"
            else:
                fields["Content-Length"] = str(end - start + len(excess))
            self._head(206, fields)
            self._send(start, end, does.chunked_ranges)
            if excess:
                self._put(excess, does.chunked_ranges)
            if does.chunked_ranges:
                self.wfile.write(b"0\r\n\r\n")
        else:
            self._parts(fields, runs)

    def _runs(self, asked: dict[str, str]) -> list[tuple[int, int]] | None:
        does = self.server.does
        if not does.ranges or does.silent_ranges or "range" not in asked:
            return None
        if asked.get("if-range", does.etag or does.date) not in (does.etag, does.date):
            return None
        runs = []
        for text in asked["range"].removeprefix("bytes=").split(","):
            low, _, high = text.partition("-")
            end = min(int(high) + 1 if high else len(does.data), len(does.data))
            if int(low) < end:
                runs.append((int(low), end))
        return runs

    def _whole(self, fields: dict[str, str]) -> None:
        does = self.server.does
        if does.chunked:
            fields["Transfer-Encoding"] = "chunked"
        else:
            fields["Content-Length"] = str(len(does.data))
        self._head(200, fields)
        if self.command == "GET":
            self._send(0, len(does.data), does.chunked)
            if does.chunked:
                self.wfile.write(b"0\r\n\r\n")

    def _any_order(self, fields: dict[str, str], runs: list[tuple[int, int]]) -> None:
        blocks = self._blocks(runs)
        random.Random(3).shuffle(blocks)
        fields |= {"Preference-Applied": "part-order=any", "Transfer-Encoding": "chunked"}
        self._parts(fields, blocks, chunked=True)

    def _blocks(self, runs: list[tuple[int, int]]) -> list[tuple[int, int]]:
        blocks = []
        for start, end in runs:
            while start < end:
                stop = min(end, start + BLOCK - start % BLOCK)
                blocks.append((start, stop))
                start = stop
        return blocks

    def _parts(
        self, fields: dict[str, str], runs: list[tuple[int, int]], chunked: bool = False
    ) -> None:
        boundary, size = "b0undary", len(self.server.does.data)
        heads = [
            f"\r\n--{boundary}\r\nContent-Type: application/octet-stream\r\n"
            f"Content-Range: bytes {start}-{end - 1}/{size}\r\n\r\n".encode()
            for start, end in runs
        ]
        last = f"\r\n--{boundary}--\r\n".encode()
        fields["Content-Type"] = f"multipart/byteranges; boundary={boundary}"
        if not chunked:
            whole = sum(map(len, heads)) + sum(end - start for start, end in runs) + len(last)
            fields["Content-Length"] = str(whole)
        self._head(206, fields)
        cut = self._cut()
        for head, (start, end) in zip(heads, runs, strict=True):
            self._put(head, chunked)
            cut = self._send(start, end, chunked, cut)
        self._put(last, chunked)
        if chunked:
            self.wfile.write(b"0\r\n\r\n")

    def _cut(self) -> int:
        does = self.server.does
        return does.cuts.pop(0) if does.cuts else 1 << 60

    def _send(self, start: int, end: int, chunked: bool = False, cut: int | None = None) -> int:
        does = self.server.does
        data = does.data
        left = self._cut() if cut is None else cut
        while start < end:
            stop = min(end, start + does.piece, start + left)
            if start == stop:
                raise ConnectionAbortedError("cut")
            piece = bytearray(data[start:stop])
            for at in {it for it in does.flips if start <= it < stop}:
                does.flips.remove(at)
                piece[at - start] ^= 1
            self._put(bytes(piece), chunked)
            if does.rate:
                time.sleep(len(piece) / does.rate)
            left -= stop - start
            start = stop
        return left

    def _put(self, data: bytes, chunked: bool) -> None:
        self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data) if chunked else data)

    def _head(self, status: int, fields: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in fields.items():
            self.send_header(name, value)
        self.end_headers()

    def _empty(self, status: int, fields: dict[str, str] | None = None) -> None:
        more = {"Content-Length": "0", **(fields or {})}
        if self.server.does.retry_after:
            more["Retry-After"] = self.server.does.retry_after
        if 300 <= status < 400:
            more["Location"] = self.server.does.extra["Location"]
        self._head(status, more)

    def _digests(self) -> None:
        does = self.server.does
        if does.computing:
            does.computing -= 1
            self._head(202, {"Retry-After": "0", "Content-Length": "0"})
            return
        text = json.dumps(digests(does.data, does.etag)).encode()
        self._head(200 if does.digests else 404, {"Content-Length": str(len(text))})
        self.wfile.write(text)


def digests(data: bytes, etag: str) -> dict:
    """The list of digests of a file, as docs/protocol.md has it."""
    cut = [data[it : it + BLOCK] for it in range(0, len(data), BLOCK)]
    return {
        "format": "flashcrowd-digests",
        "version": 1,
        "etag": etag,
        "length": len(data),
        "algorithm": "sha-256",
        "block_bytes": BLOCK,
        "blocks": [hashlib.sha256(it).hexdigest() for it in cut],
        "whole": hashlib.sha256(data).hexdigest(),
    }


class Server(ThreadingHTTPServer):
    daemon_threads = True
    does: Behaviour

    def handle_error(self, request: object, client_address: object) -> None:
        pass  # clients that vanish, and cuts

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/file"


@contextmanager
def serving(
    does: Behaviour, handler: Callable[..., BaseHTTPRequestHandler] = Handler
) -> Iterator[Server]:
    """A server at a free port of this machine, until the block ends."""
    server = Server(("127.0.0.1", 0), handler)
    server.does = does
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@contextmanager
def replying(reply: Callable[[str, str, dict[str, str]], bytes]) -> Iterator[str]:
    """The address of a server that answers by bytes and closes.

    Args:
        reply: gives them for a method, a target and the fields of a request, names in lower case.
    """
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = listener.accept()
                with contextlib.suppress(OSError), connection, connection.makefile("rb") as asked:
                    connection.settimeout(5)
                    method, target, _ = asked.readline().decode("latin-1").split()
                    fields = {}
                    while line := asked.readline().decode("latin-1").strip():
                        name, _, value = line.partition(": ")
                        fields[name.lower()] = value
                    connection.sendall(reply(method, target, fields))

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/file"
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join()
