"""What is written down of a server in real time, and the tables that come of it."""

from __future__ import annotations

import json
import math
import tomllib
from typing import Any

import pytest

from flashcrowd import _core
from flashcrowd.content_server.ledger import Ledger
from flashcrowd.content_server.trial_server import lost_pace
from flashcrowd.study import Study

PACE: Any = {"busy_s": 0.0, "positioned_reads": 0, "cost": 0.0, "void": False}


class Server:
    """Has sent 1000 B, in 100 B blocks, and read 500 B for each second that has passed."""

    def __init__(self) -> None:
        self.now = 0.0

    def snapshot(self) -> str:
        now = self.now
        counts = dict.fromkeys(("hits", "reads", "reads_ahead", "evictions"), int(2 * now))
        disk = {**PACE, "busy_s": now / 2, "positioned_reads": int(now), "cost": 3.0 * now}
        levels = {"queued_reads": 4, "waiting": 5}
        sums = {"served_bytes": int(1000 * now), "read_bytes": int(500 * now)}
        more = {"blocks": int(10 * now), "residence_s": 6 * now, "trial_disk": disk}
        return json.dumps({**counts, **levels, **sums, **more})


STUDY = """
format = 1
title = "A server and two clients"
network.stack = "linux-6"
network.groups.server = { access = { up = "1 Gbit/s", down = "1 Gbit/s" } }
network.groups.client = { hosts = 2, access = { up = "1 Gbit/s", down = "1 Gbit/s" } }
workloads.ping = { kind = "ping", from = "server", to = "client-1" }

[workloads.origin]
kind = "origin"
host = "server"
files = "1 MiB"
policy = "circus"
disk = { kind = "ssd", channels = 4 }
populations.all = { group = "client" }
"""


def plan(window: tuple[float, float | None] | None = None, **series: float) -> Any:
    (point,) = Study.from_dict(tomllib.loads(STUDY)).points()
    made: Any = json.loads(point.plan().to_json())
    begin, end = window or (0.0, None)
    about = {
        "table": "origins",
        "from_ns": int(begin * 1e9),
        "to_ns": None if end is None else int(end * 1e9),
    }
    every = [{"what": name, "every_ns": int(each * 1e9)} for name, each in series.items()]
    made["measures"] |= {"windows": [about] if window else [], "series": every}
    return made


SIZE, BLOCK = 1 << 20, 1 << 16


def rules_of(made: Any) -> _core.OriginRules:
    return _core.OriginRules(_core.Plan(json.dumps(made)), 1)


def played(until_s: float, made: Any, rules: _core.OriginRules | None = None) -> Ledger:
    """The ledger of a run that was looked at whenever it was due, half a second late."""
    server = Server()
    ledger = Ledger(server, 1, rules or rules_of(made))  # type: ignore[arg-type]
    while ledger.due_s + 0.5 < until_s:
        server.now = ledger.due_s + 0.5
        ledger.look(server.now)
    server.now = until_s
    ledger.close(server.now)
    server.now += 100.0  # what a server does after the run is no part of it
    return ledger


def test_without_a_window_all_counts() -> None:
    made = plan()
    rules = rules_of(made)
    rules.come(1.1, 0, 1)
    rules.come(0.6, 0, 0)
    rules.receive(2.0, 0, 1, [(0, BLOCK), (BLOCK, BLOCK + 30)])
    rules.receive(4.0, 0, 0, [(BLOCK, SIZE), (0, BLOCK)])
    ledger = played(8.0, made, rules)
    assert ledger.due_s == math.inf
    tables = ledger.tables()
    (row,) = tables["origins"]
    assert (row["from_s"], row["to_s"]) == (0.0, 8.0)
    assert (row["sent_bytes"], row["read_bytes"]) == (8000, 4000)
    assert row["network_bps"] == pytest.approx(8000)
    assert row["miss_ratio"] == 0.5
    assert row["residence_s"] == pytest.approx(48 / 16)
    # The mean of the channels, as in the simulation.
    assert row["disk_busy_s"] == pytest.approx(8.0 / 2 / 4)
    assert (row["seeks"], row["disk_cost"]) == (8, 24.0)
    assert (row["downloads"], row["completed"], row["policy"]) == (2, 1, "circus")
    first, second = tables["downloads"]
    assert (first["peer"], first["host"], first["pieces"]) == (0, "client-1", SIZE // BLOCK)
    assert (first["completed_s"], first["duration_s"]) == (4.0, pytest.approx(3.4))
    assert (second["completed_s"], second["left_s"], second["pieces"]) == (None, None, 1)
    assert second["downloaded_bytes"] == BLOCK, "a part of a block is none"


def test_a_window_cuts_counts_and_downloads() -> None:
    made = plan((4.0, 10.0))
    at_ns = [int(at * 1e9) for at in (3.9, 4.0)]
    made["workloads"][1]["populations"][0]["arrivals"] = {"kind": "times", "at_ns": at_ns}
    rules = rules_of(made)
    for number in range(2):
        rules.come(4.1, 0, number)
    tables = played(20.0, made, rules).tables()
    (row,) = tables["origins"]
    assert (row["from_s"], row["to_s"], row["sent_bytes"]) == (4.5, 10.5, 6000)
    assert [it["peer"] for it in tables["downloads"]] == [1], "whenever they came"


def test_a_run_that_ends_before_its_window_did_nothing_in_it() -> None:
    (row,) = played(3.0, plan((4.0, 10.0))).tables()["origins"]
    assert (row["sent_bytes"], row["network_bps"], row["miss_ratio"]) == (0, None, None)


def test_series_are_rates_and_levels_at_their_instants() -> None:
    rates = {"origin-rate": 2.0, "disk-rate": 4.0}
    levels = {"disk-queue": 4.0, "disk-waiting": 4.0, "origin-clients": 4.0}
    others = {"queue-delay": 0.1}
    made = plan(None, **rates, **levels, **others)
    rules = rules_of(made)
    for number in range(2):
        rules.come(1.0, 0, number)
    rows = played(9.0, made, rules).tables()["series"]
    found = {(row["what"], row["t_s"]): row["value"] for row in rows}
    assert {row["source"] for row in rows} == {"origin"}
    assert {at for what, at in found if what == "origin-rate"} == {0.0, 2.0, 4.0, 6.0, 8.0}
    assert found["origin-rate", 6.0] == pytest.approx(8000)
    assert found["disk-rate", 8.0] == pytest.approx(4000)
    said = (found["disk-queue", 4.0], found["disk-waiting", 4.0], found["origin-clients", 4.0])
    assert said == (4, 5, 2)
    assert len(found) == 5 + 3 * 4


def test_a_disk_that_lost_its_pace_is_told() -> None:
    assert lost_pace(PACE) == ""
    said = lost_pace(PACE | {"void": True, "lateness_max_s": 0.6, "lost_s": 0.25})
    assert said == "the trial disk was up to 0.600 s late and lost 0.250 s"
