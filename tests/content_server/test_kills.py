"""`flashcrowd serve`, `flashcrowd fetch`, and kill -9 of either at any instant."""

from __future__ import annotations

import contextlib
import json
import math
import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="serve needs Linux")

DATA = random.Random(11).randbytes((12 << 20) + 777)
MEMORY = "9MiB"
"""Less than the file, so that the server has to choose."""
DISK = "1 ms, 50 MB/s"
"""So slow that most of a fetch is the transfer, in which kills are to come."""
FORMS = ["ANY_ORDER", "PULL", "HINTS"]
HOW = {"ANY_ORDER": "any order", "PULL": "any order", "HINTS": "hinted ranges"}
times_of_kills = pytest.mark.parametrize(
    "times", [pytest.param(3, id="3"), pytest.param(200, id="200", marks=pytest.mark.slow)]
)
forms = pytest.mark.parametrize("form", FORMS)


def length(ranges: list[tuple[int, int]]) -> int:
    return sum(end - start for start, end in ranges)


class Stage:
    """A server on a file and clients of it, each a command in a process of its own."""

    def __init__(self, mother: subprocess.Popen[str], folder: Path, form: str) -> None:
        self._mother, self._form = mother, form
        self.folder, self.target = folder, folder / "got" / "file"
        self.target.parent.mkdir()
        (folder / "served").mkdir()
        (folder / "served" / "file").write_bytes(DATA)
        with socket.create_server(("127.0.0.1", 0)) as free:
            self._port = free.getsockname()[1]
        self.server = self.serve()

    def _say(self, said: dict[str, object]) -> int:
        assert self._mother.stdin is not None
        assert self._mother.stdout is not None
        print(json.dumps(said), file=self._mother.stdin, flush=True)
        return int(self._mother.stdout.readline())

    def _begin(self, log: str, *words: object) -> int:
        texts = [str(word) for word in words]
        return self._say({"words": texts, "form": self._form, "log": str(self.folder / log)})

    def serve(self) -> int:
        where = f"127.0.0.1:{self._port}"
        served = self.folder / "served"
        words = ["--listen", where, "--memory", MEMORY, "--trial-disk", DISK]
        server = self._begin("server.log", "serve", served, *words)
        until = time.monotonic() + 60
        while time.monotonic() < until:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self._port)):
                return server
            time.sleep(0.005)
        raise AssertionError((self.folder / "server.log").read_text())

    def fetch(self) -> int:
        url = f"http://127.0.0.1:{self._port}/file"
        return self._begin("client.log", "fetch", url, "-o", self.target, "--json")

    def wait(self, process: int) -> int:
        """How it ended; a status, or less than 0 for a signal."""
        return self._say({"wait": process})

    def has_ended(self, process: int) -> bool:
        return bool(self._say({"look": process}))

    def kill(self, process: int) -> int:
        os.kill(process, signal.SIGKILL)
        return self.wait(process)

    def had(self) -> list[tuple[int, int]]:
        """What the note says to be there."""
        try:
            return json.loads(self.target.with_name("file.part.json").read_text())["had"]
        except FileNotFoundError:
            return []

    def noted(self) -> int:
        """How many bytes the note says to be there; each of them is right."""
        had = self.had()
        if not had:
            return 0
        try:
            part = self.target.with_name("file.part").read_bytes()
        except FileNotFoundError:  # A client that still runs has given it its name by now.
            part = self.target.read_bytes()
        for start, end in had:
            assert part[start:end] == DATA[start:end]
        return length(had)

    def wait_for_an_instant(self, client: int, draw: random.Random, span: float) -> None:
        """At random in the time that a fetch takes; or, three times in four, in its transfer.

        Where all bytes are there and only digests are missing, mostly the end of the fetch.
        """
        here = length(self.had())
        if draw.random() < 0.25:
            return time.sleep(draw.uniform(0, span))
        enough = draw.randrange(here, len(DATA)) if here < len(DATA) else math.inf
        while length(self.had()) < enough and not self.has_ended(client):
            time.sleep(0.002)

    def whole(self) -> dict[str, object]:
        """What the client said at its end, when the file is there and right; takes it away."""
        assert self.target.read_bytes() == DATA
        assert [it.name for it in self.target.parent.iterdir()] == ["file"]
        self.target.unlink()
        said = json.loads((self.folder / "client.log").read_text().splitlines()[-1])
        return said


@pytest.fixture(scope="module")
def mother() -> Iterator[subprocess.Popen[str]]:
    words = [sys.executable, str(Path(__file__).with_name("mother.py"))]
    pipe = subprocess.PIPE
    with subprocess.Popen(words, text=True, stdin=pipe, stdout=pipe) as process:
        yield process
        assert process.stdin is not None
        process.stdin.close()


@pytest.fixture
def stage(mother: subprocess.Popen[str], tmp_path: Path, form: str) -> Iterator[Stage]:
    stage = Stage(mother, tmp_path, form)
    yield stage
    assert stage.kill(stage.server) == -signal.SIGKILL


def span_of_a_fetch(stage: Stage) -> float:
    """How long an undisturbed one takes, in seconds: the instants are drawn from it."""
    begin = time.monotonic()
    assert stage.wait(stage.fetch()) == 0
    assert stage.whole()["how"] == HOW[stage._form]
    return time.monotonic() - begin


@forms
@times_of_kills
def test_every_byte_is_right_after_kills_of_the_client(times: int, stage: Stage) -> None:
    draw, kills, resumed = random.Random(times), 0, 0
    span = span_of_a_fetch(stage)
    while kills < times:
        had = stage.noted()
        client = stage.fetch()
        time.sleep(draw.uniform(0, span))
        status = stage.kill(client)
        if status == 0:
            fetched = stage.whole()
            resumed += bool(fetched["resumed"])
            assert fetched["verified"] == ["blocks"]
        else:
            assert status == -signal.SIGKILL
            # A whole file has its name already, or its parts are kept.
            assert stage.target.exists() or stage.noted() >= had
            kills += 1
            if stage.target.exists():
                assert stage.target.read_bytes() == DATA
                stage.target.unlink()
    assert stage.wait(stage.fetch()) == 0
    resumed += bool(stage.whole()["resumed"])
    assert resumed >= times // 20


@forms
@times_of_kills
def test_every_byte_is_right_after_kills_of_the_server(times: int, stage: Stage) -> None:
    draw, kills, amid, status = random.Random(times), 0, 0, 0
    span = span_of_a_fetch(stage)
    while kills < times or status:
        client = stage.fetch()
        while kills < times and not stage.has_ended(client):
            # Longer than a fetch may take: no end comes of one whose server is always away.
            stage.wait_for_an_instant(client, draw, 1.5 * span)
            stage.kill(stage.server)
            kills += 1
            amid += 0 < stage.noted() < len(DATA)
            stage.server = stage.serve()
        status = stage.wait(client)
        if status == 0:
            fetched = stage.whole()
            # Digests begin anew with each server; it may have had no time for them.
            assert fetched["verified"] in (["blocks"], [])
        else:
            # It gives up a server that was not there from the beginning.
            assert status == 1
    assert amid >= times // 5
