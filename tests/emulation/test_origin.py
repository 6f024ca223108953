"""A content server of the emulation with its clients, on this machine's loopback: no network."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.engines.plans import made

from flashcrowd.clients.host_sandbox import HostSandbox
from flashcrowd.content_server.snapshot import pace
from flashcrowd.emulation.app import Context
from flashcrowd.emulation.origins import Origins
from flashcrowd.emulation.timetable import Timetable
from flashcrowd.study import Study

PATIENCE_S = 20.0

CROWD = """
format = 1
title = "Three clients"
seed = 1

[network]
rtt = "1 ms"
stack = "linux-6"

[network.groups.server]

[network.groups.clients]
hosts = 3

[workloads.origin]
kind = "origin"
host = "server"
files = "1 MiB"
memory = "512 KiB"
extent = "64 KiB"
block = "16 KiB"
patience = "1 s"
disk = { positioning = "100 us", rate = "100 MB/s" }

[workloads.origin.populations.clients]
group = "clients"
arrivals = { at = ["0 s", "100 ms", "200 ms"] }

[measures.series]
origin-clients = "100 ms"

[stop]
horizon = "30 s"
stall = "1 s"
"""


class Here:
    """Hosts without namespaces: all of them are this machine."""

    def __init__(self, count: int) -> None:
        self.places = [HostSandbox(f"host-{number}", "127.0.0.1") for number in range(count)]

    @contextmanager
    def inside(self, host: int) -> Iterator[HostSandbox]:
        yield self.places[host]


class Played:
    """A run of the crowd until nothing is left to do, or something is wrong.

    Args:
        folder: for its files.
        change: of the plan.
        meanwhile: called after each turn.

    Attributes:
        app: all content servers, which are this one.
        origin: it.
        rows: its rows of `downloads`.
        calls: how often something ended.
        stalled: why it got no further, if it did not.
    """

    def __init__(
        self,
        folder: Path,
        change: Callable[[dict[str, Any]], object] = lambda _: None,
        meanwhile: Callable[[Origins, Timetable], object] = lambda *_: None,
    ) -> None:
        (folder / "study.toml").write_text(CROWD)
        plan = json.loads(Study.load(folder / "study.toml").points()[0].plan().to_json())
        change(plan)
        self.calls = 0
        self.stalled: str | None = None
        here: Any = Here(4)
        ports = itertools.repeat(0)
        self.app = Origins(Context(made(plan), 1, here, folder / "files", self._count, ports))
        self.origin = self.app._origins[0]
        self.app.prepare()
        assert self.origin._server is not None
        self.origin._port = int(self.origin._server.address.rpartition(":")[2])
        self.table = Timetable(time.monotonic_ns())
        self.app.open(self.table)
        try:
            while not (self.app.is_done or self.stalled or self.app.failure):
                assert self.table.now() < PATIENCE_S, "it does not end"
                self.stalled = self.app.stalled(self.table.now())
                self.table.turn(0.05)
                meanwhile(self.app, self.table)
            self.app.cut_off(self.table.now())
            self.tables = self.app.tables(self.table.now())
            self.rows = self.tables["downloads"]
        finally:
            self.app.close()

    def _count(self) -> None:
        self.calls += 1


def test_all_come_in_time_and_go_with_their_files(tmp_path: Path) -> None:
    played = Played(tmp_path)
    app, origin = played.app, played.origin
    assert [guest.visit.at_s for guest in origin.guests] == [0.0, 0.1, 0.2]
    arrived_s = [row["arrived_s"] for row in played.rows]
    assert arrived_s == pytest.approx([0.05, 0.15, 0.25], abs=0.05)
    assert all(guest.answer.complete for guest in origin.guests)
    assert (app.payload_bytes, app.progress(9.0), played.calls) == (3 << 20, 1.0, 3)
    assert origin.hosts == {0, 1, 2, 3}
    assert list(app.unfinished()) == []
    assert [row["downloaded_bytes"] for row in played.rows] == [1 << 20] * 3
    assert played.tables["origins"][0]["sent_bytes"] == 3 << 20
    assert played.tables["series"]
    assert origin.violations() == []
    assert origin.pace()["broke_off"] == 0
    assert origin._server is not None
    assert origin._server.wait(5.0), "nothing of it is left"


def test_a_stop_lets_nobody_come_any_more(tmp_path: Path) -> None:
    def stop(app: Origins, table: Timetable) -> None:
        if table.now() > 0.15:
            app.change({"kind": "stop", "workload": 0, "at_ns": 150_000_000}, table)

    played = Played(tmp_path, slow, stop)
    assert len(played.origin.guests) == 2
    assert [row["left_s"] is None for row in played.rows] == [False, False]
    assert [row["completed_s"] for row in played.rows] == [None, None]
    assert played.stalled is None


def slow(plan: dict[str, Any]) -> None:
    """A disk that needs 10 s for the file."""
    disk = plan["workloads"][0]["disk"]
    disk["rate_bps"] = 800_000


def test_who_leaves_early_goes_without_the_file(tmp_path: Path) -> None:
    def impatient(plan: dict[str, Any]) -> None:
        slow(plan)
        arrivals = plan["workloads"][0]["populations"][0]["arrivals"]
        leave = [300_000_000, 300_000_000, 400_000_000]
        arrivals |= {"kind": "sessions", "leave_ns": leave}

    played = Played(tmp_path, impatient)
    left = [row["left_s"] for row in played.rows]
    assert left == pytest.approx([0.3, 0.3, 0.4], abs=0.05)
    assert played.app.progress(9.0) < 0.5
    assert not any(guest.broke_off for guest in played.origin.guests)


def test_where_nothing_comes_the_run_has_stalled(tmp_path: Path) -> None:
    def stuck(plan: dict[str, Any]) -> None:
        plan["workloads"][0]["disk"]["positioning"]["time_ns"] = 100_000_000_000

    # The head stands where the file begins, and moves when the second client wants that again.
    played = Played(tmp_path, stuck)
    assert played.stalled is not None
    words, _, since = played.stalled.rpartition(" since ")
    assert words == "origin origin: no block reached any of 2 clients"
    assert 0 < float(since.removesuffix(" s")) < 2
    assert list(played.app.unfinished()) == ["origin origin: 1 of 3 downloads are complete"]


def test_a_server_that_ends_by_itself_fails_the_run(tmp_path: Path) -> None:
    def end(app: Origins, table: Timetable) -> None:
        server = app._origins[0]._server
        if table.now() > 0.25 and server is not None:
            server.stop()
            server.stop()
            assert server.wait(5.0)

    played = Played(tmp_path, slow, end)
    assert played.app.failure == "origin origin: the server ended by itself"


def test_a_disk_that_failed_or_lost_its_pace_makes_it_invalid(tmp_path: Path) -> None:
    origin = Played(tmp_path).origin
    assert origin._ledger is not None
    assert origin._ledger._last is not None
    origin._ledger._last["disk_errors"] = 3
    pace(origin._ledger._last).update({"void": True, "lateness_max_s": 0.7, "lost_s": 0.2})
    assert origin.violations() == [
        "origin origin: the trial disk was up to 0.700 s late and lost 0.200 s",
        "origin origin: 3 reads of the files failed",
    ]
