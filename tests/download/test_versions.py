"""A file that changes, on many nodes, with validators or without: one version or an error."""

import base64
import random
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from tests.download.servers import DATE, content

from flashcrowd.download import FetchError
from flashcrowd.download.download import Download
from flashcrowd.download.site import Answer
from flashcrowd.download.wish import Wish
from flashcrowd.http.head import read_head
from flashcrowd.http.stream import Stream

CALLS = [40, pytest.param(100, marks=pytest.mark.slow)]
"""Files that are fetched, of each seed."""

LATER = "Sun, 22 Nov 2020 10:00:00 GMT"
NOW = "Mon, 23 Nov 2020 10:00:00 GMT"


class Servers:
    """In the place of a `Site`: nodes that say the truth of what they send, but not all of it.

    A strong tag is of one version, and a date that is old enough is. A node may leave either out,
    weaken the tag, ignore If-Range, send other bytes than it was asked for (and say so), break
    off, or frame by the end of the connection.
    """

    url = "http://mirror/file"

    def __init__(self, draw: random.Random) -> None:
        self.draw = draw
        size = draw.randint(1, 3000)
        sizes = [size, size if draw.random() < 0.9 else draw.randint(1, 3000)]
        self.versions = [content(it, seed) for seed, it in enumerate(sizes)]
        self.now = 0
        self.tree = 0
        self.says_digests = False
        self.opened: list[float] = []
        self.habits = {it: draw.random() < 0.6 for it in (
            "changes", "cuts", "no tag", "no date", "ignores If-Range", "reorders", "no HEAD",
        )} | {it: draw.random() < 0.2 for it in (
            "weak", "other bytes", "chunks", "close", "other tags",
        )}  # fmt: skip

    @classmethod
    def mirror(cls, draw: random.Random, of: "Servers", number: int) -> "Servers":
        """Another place that is said to have the same, and has it or not: under the same dates."""
        mirror = cls(draw)
        mirror.url = f"http://mirror-{number}/file"
        mirror.says_digests = draw.random() < 0.5
        if draw.random() < 0.5:
            mirror.versions = of.versions
            mirror.tree = draw.choice([of.tree, number])
        else:
            sizes = [len(it) for it in of.versions]
            mirror.versions = [content(it, 10 * number + seed) for seed, it in enumerate(sizes)]
            mirror.tree = number
        return mirror

    def another(self) -> "Servers":
        return self

    def abort(self) -> None:
        pass

    def does(self, habit: str) -> bool:
        """Whether it does so this time."""
        return self.habits[habit] and self.draw.random() < 0.5

    @contextmanager
    def ask(
        self, method: str, headers: Mapping[str, str] | None = None, url: str | None = None
    ) -> Iterator[Answer]:
        text = self.answer(method, headers or {})
        rest = [text[: self.draw.randrange(len(text))] if self.does("cuts") else text]

        def receive(view: memoryview, until: float) -> int:
            piece, rest[0] = rest[0][: min(len(view), 700)], rest[0][700:]
            view[: len(piece)] = piece
            return len(piece)

        connection = SimpleNamespace(stream=Stream(receive), secure=False)
        yield Answer(self.url, method, read_head(connection.stream), cast(Any, connection))

    def answer(self, method: str, asked: Mapping[str, str]) -> bytes:
        """The bytes of an answer."""
        if self.does("changes"):
            self.now = self.draw.randrange(2)
        if method == "HEAD" and self.does("no HEAD"):
            return b"HTTP/1.1 405 x\r\nContent-Length: 0\r\n\r\n"
        data = self.versions[self.now]
        node = self.draw.randrange(3) if self.habits["other tags"] else 0
        tag, date = f'"{self.now}-{node}-{self.tree}"', (DATE, LATER)[self.now]
        fields = {"Date": NOW, "Accept-Ranges": "bytes"}
        if self.says_digests:
            digest = base64.b64encode(sha256(data).digest()).decode()
            fields["Repr-Digest"] = f"sha-256=:{digest}:"
        if self.habits["reorders"]:
            fields["Vary"] = "Prefer"
        if not self.does("no tag"):
            fields["ETag"] = f"W/{tag}" if self.does("weak") else tag
        if not self.does("no date"):
            fields["Last-Modified"] = date
        wanted = asked.get("range", "")
        same = asked.get("if-range", tag) in (tag, date) or self.does("ignores If-Range")
        runs = [(int(low), min(int(high or 1 << 40) + 1, len(data))) for low, high in re.findall(
            r"(\d+)-(\d*)", wanted)]  # fmt: skip
        runs = [(low, high) for low, high in runs if low < high]
        if not wanted or not same:
            return self.framed("200", fields, data, method)
        if not runs:
            fields["Content-Range"] = f"bytes */{len(data)}"
            return self.framed("416", fields, b"", method)
        if self.does("other bytes"):
            low = self.draw.randrange(len(data))
            runs = [(low, self.draw.randint(low + 1, len(data)))]
        if len(runs) == 1:
            [(low, high)] = runs
            size = "*" if self.draw.random() < 0.2 else len(data)
            fields["Content-Range"] = f"bytes {low}-{high - 1}/{size}"
            return self.framed("206", fields, data[low:high], method)
        if "part-order=any" in asked.get("prefer", ""):
            fields["Preference-Applied"] = "part-order=any"
            self.draw.shuffle(runs)
        fields["Content-Type"] = "multipart/byteranges; boundary=b"
        body = b"".join(
            b"\r\n--b\r\nContent-Range: bytes %d-%d/%d\r\n\r\n" % (low, high - 1, len(data))
            + data[low:high]
            for low, high in runs
        )
        return self.framed("206", fields, body + b"\r\n--b--\r\n", method)

    def framed(self, status: str, fields: dict[str, str], body: bytes, method: str) -> bytes:
        if self.does("chunks"):
            fields["Transfer-Encoding"] = "chunked"
            body = (b"%x\r\n%b\r\n" % (len(body), body) if body else b"") + b"0\r\n\r\n"
        elif not self.does("close"):
            fields["Content-Length"] = str(len(body))
        lines = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
        return f"HTTP/1.1 {status} x\r\n{lines}\r\n".encode() + (body if method == "GET" else b"")


def fetched(draw: random.Random, mirrors: int = 0, most: int = 1) -> str:
    """What came of some calls for one file, of which there are so many mirrors."""
    servers = Servers(draw)
    servers.says_digests = mirrors > 0 and draw.random() < 0.5
    others = [Servers.mirror(draw, servers, number) for number in range(1, mirrors + 1)]
    versions = [it for each in (servers, *others) for it in each.versions]
    of = draw.choice(servers.versions)
    sha = sha256(of).digest() if draw.random() < 0.4 else b""
    folder = Path(tempfile.mkdtemp())
    try:
        target = folder / "file"
        for _ in range(3):
            given = sha if draw.random() < 0.8 else b""
            wish = Wish(target, sha256=given, tries=draw.randint(1, 6))
            if most > 1:
                range_bytes = draw.choice([None, draw.randint(1, 900)])
                wish = replace(
                    wish,
                    connections=draw.randint(2, most),
                    range_bytes=range_bytes,
                    least_split_bytes=draw.choice([None, 100]),
                )
            try:
                site, more = cast(Any, servers), cast(Any, others)
                result = Download(site, wish, sleep=lambda seconds: None, mirrors=more).run()
            except FetchError:
                assert not target.exists()
                continue
            got = target.read_bytes()
            assert got in ([of] if given else versions)
            assert result.bytes == len(got)
            assert [it.name for it in folder.iterdir()] == ["file"]
            return "resumed" if result.resumed else "put together" if result.retries else "whole"
        return "nothing"
    finally:
        shutil.rmtree(folder)


@pytest.mark.parametrize("calls", CALLS)
@pytest.mark.parametrize("seed", range(12))
def test_a_file_is_one_version_or_none(seed, calls, monkeypatch):
    for name in ("fsync", "fdatasync"):  # no power is lost here
        monkeypatch.setattr(f"os.{name}", lambda fd: None, raising=False)
    draw = random.Random(seed)
    came = [fetched(draw) for _ in range(calls)]
    assert all(it in came for it in ("whole", "put together"))
    assert "nothing" in came or calls < 100


@pytest.mark.parametrize("calls", CALLS)
@pytest.mark.parametrize("seed", range(8))
def test_a_file_of_several_mirrors_is_one_version_or_none(seed, calls, monkeypatch):
    for name in ("fsync", "fdatasync"):  # no power is lost here
        monkeypatch.setattr(f"os.{name}", lambda fd: None, raising=False)
    draw = random.Random(seed)
    came = [fetched(draw, mirrors=1 + at % 2) for at in range(calls)]
    assert all(it in came for it in ("whole", "put together"))


@pytest.mark.parametrize("calls", CALLS)
@pytest.mark.parametrize("seed", range(8))
def test_over_several_connections_a_file_is_one_version_or_none(seed, calls, monkeypatch):
    for name in ("fsync", "fdatasync"):  # no power is lost here
        monkeypatch.setattr(f"os.{name}", lambda fd: None, raising=False)
    monkeypatch.setattr("flashcrowd.download.patience.FIRST_S", 0.0)
    draw = random.Random(seed)
    came = [fetched(draw, mirrors=at % 3, most=4) for at in range(calls)]
    assert all(it in came for it in ("whole", "put together"))
