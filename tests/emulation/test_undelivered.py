"""What real programs did not deliver has no time, and their run says so, as a simulated one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.emulation.test_transfers import only, ran

from flashcrowd.report import expectations
from flashcrowd.study import Study

pytestmark = [pytest.mark.clocked, pytest.mark.usefixtures("measured_once")]

LINE = {"up": "10 Mbit/s", "down": "10 Mbit/s"}
ENDS = {"from": "a", "to": "b"}


def study(dies: str, workloads: dict[str, dict[str, Any]], horizon: str, **more: Any) -> Study:
    """From the instant `dies` on, nothing gets through."""
    return Study.from_dict(
        {
            "format": 1,
            "title": "A network that dies",
            "repeats": 1,
            "network": {
                "rtt": "20 ms",
                "groups": {"a": {"access": LINE}, "b": {"access": LINE}},
            },
            "workloads": workloads,
            "timeline": {"dead": {"at": dies, "change": "network.loss", "to": "100 %"}},
            "stop": {"horizon": horizon},
            **more,
        }
    )


def test_a_flow_that_loses_its_connection_has_no_time(tmp_path: Path) -> None:
    flow = {"kind": "transfer", **ENDS, "size": "10 MB", "transport": "libtorrent"}
    expect = {"quick": {"measure": "transfer time", "below": "1000 s"}}
    dying = study("1 s", {"bulk": flow}, "60 s", expect=expect)
    for engine in ("simulation", "emulation"):
        results = ran(dying, engine, tmp_path / engine)
        run, row = only(results, "runs"), only(results, "transfers")
        assert run["outcome"] == "undelivered", engine
        said = "transfer bulk: 1 of 1 flows lost the connection, the first (flow 0 at "
        assert run["reason"].startswith(said), engine
        assert run["reason"].endswith(f" s after {row['bytes']} of 10000000 bytes)"), engine
        assert 0 < row["bytes"] < 10_000_000
        assert row["duration_s"] is None
        assert 1 < row["end_s"] < 60
        (judged,) = expectations.judge(results)
        assert judged.outcome == "undecided"


def test_nothing_of_a_dead_network_is_a_success(tmp_path: Path) -> None:
    begin = {"start": "500 ms"}
    flow = {"kind": "transfer", **ENDS, **begin}
    workloads = {
        "sized": {**flow, "size": "1 MB"},
        "endless": {**flow, "stop": "2500 ms"},
        "web": {"kind": "web", **ENDS, **begin},
        "ping": {"kind": "ping", **ENDS, **begin, "interval": "500 ms"},
        "call": {"kind": "call", **ENDS, **begin, "interval": "100 ms", "stop": "1500 ms"},
    }
    dead = study("200 ms", workloads, "3 s")
    results = ran(dead, "emulation", tmp_path)
    run = only(results, "runs")
    assert run["outcome"] == "undelivered"
    for said in (
        "transfer sized: no byte arrived of 1 of 1 flows",
        "transfer endless: no byte arrived of 1 of 1 flows",
        "web web: no byte arrived of 1 pages",
        "ping ping: no answer arrived to ",
        "call call: no packet arrived of 10 from a",
        "call call: no packet arrived of 10 from b",
        "cut off in time: transfer sized flow 0: 0 of 1000000 bytes",
    ):
        assert said in run["reason"]
    for table, column in (
        ("transfers", "duration_s"),
        ("pages", "duration_s"),
        ("pings", "rtt_s"),
        ("calls", "mean_delay_s"),
    ):
        assert set(results.tables[table].column(column).to_pylist()) == {None}, table


def test_a_client_of_an_origin_that_is_cut_off_has_no_time(tmp_path: Path) -> None:
    crowd = {"b": {"group": "b", "arrivals": {"spread": "0 s"}}}
    origin = {"kind": "origin", "host": "a", "files": "16 MiB", "populations": crowd}
    results = ran(study("1 s", {"mirror": origin}, "3 s"), "emulation", tmp_path)
    assert only(results, "runs")["outcome"] == "horizon"
    row = only(results, "downloads")
    assert 0 < row["downloaded_bytes"] < 16 << 20
    assert row["duration_s"] is None


def test_what_arrives_and_what_is_stopped_is_no_failure(tmp_path: Path) -> None:
    flow = {"kind": "transfer", **ENDS, "size": "1 MB"}
    workloads = {
        "whole": flow,
        "stopped": {**flow, "size": "100 MB", "stop": "2 s"},
        "web": {"kind": "web", **ENDS, "stop": "2 s"},
    }
    alive = study("2900 ms", workloads, "3 s")
    for engine in ("simulation", "emulation"):
        results = ran(alive, engine, tmp_path / engine)
        assert only(results, "runs")["outcome"] == "completed"
        rows = {row["transfer"]: row for row in results.tables["transfers"].to_pylist()}
        whole, stopped = rows["whole"], rows["stopped"]
        assert whole["duration_s"] == pytest.approx(whole["end_s"] - whole["start_s"])
        assert stopped["end_s"] == pytest.approx(2.0, abs=0.1)
        assert stopped["duration_s"] is None
