"""A content server and its clients over the emulated network, beside the simulation of the plan."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.emulation.left_behind import nothing_is_left_after_ctrl_c, started, wait_for
from tests.emulation.test_transfers import only, ran
from tests.engines import plans
from tests.engines.plans import made

from flashcrowd.content_server.visitor import MTU, SEGMENT
from flashcrowd.emulation import budget, capabilities, self_test, stack
from flashcrowd.emulation.requirements import algorithms, impossible, undivided
from flashcrowd.emulation.trial import Tried
from flashcrowd.engines import PlanRejected
from flashcrowd.engines.registry import engine
from flashcrowd.store import Results
from flashcrowd.study import Study

pytestmark = pytest.mark.usefixtures("measured_once")

SIZE = 4 << 20
RATES = {"T10": 10e6, "T3": 44.736e6}

CROWD = """
format = 1
title = "A dozen clients before a server that is 20 ms away"
seed = 1
repeats = 1

[network]
rtt = "20 ms"
loss = "0.1 %"
stack = "linux-6"

[network.groups.server]
access = { up = "1 Gbit/s", down = "1 Gbit/s", up_queue = "1000 packets" }

[network.groups.T10]
hosts = 6
access = { up = "10 Mbit/s", down = "10 Mbit/s", down_queue = "100 packets" }

[network.groups.T3]
hosts = 6
access = { up = "44.736 Mbit/s", down = "44.736 Mbit/s", down_queue = "100 packets" }

[workloads.origin]
kind = "origin"
host = "server"
files = "4 MiB"
policy = "relevance"
memory = "1 MiB"
extent = "64 KiB"
block = "16 KiB"
disk = { positioning = "312.5 us", rate = "40 MB/s" }

[workloads.origin.populations.T10]
group = "T10"
in_order = true
arrivals = { gap = "300 ms" }

[workloads.origin.populations.T3]
group = "T3"
arrivals = { gap = "300 ms" }

[measures.series]
disk-rate = "500 ms"
origin-rate = "500 ms"
origin-clients = "500 ms"
queue-delay = "500 ms"

[stop]
horizon = "60 s"
"""

STOP = """
[timeline.closing]
at = "1.5 s"
stop = "origin"
"""

WEB_SEEDS = """
[workloads.swarm]
kind = "swarm"
size = "4 MiB"
web_seeds = [{ origin = "origin" }]
tracker = "server"

[workloads.swarm.populations.peers]
group = "T10"
profile = "libtorrent"
"""


@pytest.fixture
def crowd(tmp_path: Path) -> Path:
    """Six clients that read in order over 10 Mbit/s, and six that do not over a T3 line."""
    path = tmp_path / "crowd.toml"
    path.write_text(CROWD)
    return path


def plan_of(study: Path) -> Any:
    return json.loads(Study.load(study).points()[0].plan().to_json())


def mean(results: Results, population: str) -> float:
    """Seconds of a download of one kind of client."""
    rows = results.tables["downloads"].to_pylist()
    times = [row["duration_s"] for row in rows if row["population"] == population]
    return sum(times) / len(times)


@pytest.mark.clocked
def test_a_crowd_has_its_files_when_the_simulation_says(crowd: Path, tmp_path: Path) -> None:
    simulated = ran(crowd, "simulation", tmp_path / "s")
    emulated = ran(crowd, "emulation", tmp_path / "e")
    assert only(emulated, "runs")["outcome"] == "completed"
    real, twins = (it.tables["downloads"].to_pylist() for it in (emulated, simulated))
    assert len(real) == len(twins) == 12
    for row, twin in zip(real, twins, strict=True):
        for column in ("swarm", "population", "host", "peer", "downloaded_bytes", "pieces"):
            assert row[column] == twin[column]
        assert row["downloaded_bytes"] == SIZE, "every byte was compared, and none was missing"
        assert row["arrived_s"] == pytest.approx(twin["arrived_s"], abs=0.02)
        rate = RATES[row["population"]]
        assert row["duration_s"] >= SIZE * 8 / rate * MTU / SEGMENT
    # Without losses both are within 1.2 %, as the real server says more around blocks. With them 5
    # seeds differed by 1.5 % at most over 10 Mbit/s; over T3 by 5.4 %, single ones by 21 %.
    assert mean(emulated, "T10") == pytest.approx(mean(simulated, "T10"), rel=0.05)
    assert mean(emulated, "T3") == pytest.approx(mean(simulated, "T3"), rel=0.15)
    # The disk does not hold the fast up: they take what their line takes, beginning and losses.
    assert mean(emulated, "T3") < 1.3 * SIZE * 8 / RATES["T3"] * MTU / SEGMENT
    origin, twin = only(emulated, "origins"), only(simulated, "origins")
    assert origin.keys() == twin.keys()
    assert origin["sent_bytes"] == twin["sent_bytes"] == 12 * SIZE
    # Whoever reads in order is given several blocks in one go, and one at a time in the simulation.
    assert SIZE <= origin["read_bytes"] <= twin["read_bytes"]
    series = emulated.tables["series"].to_pylist()
    assert {row["what"] for row in series} == {
        "disk-rate", "origin-rate", "origin-clients", "queue-delay",
    }  # fmt: skip
    links = {row["link"]: row for row in emulated.tables["links"].to_pylist()}
    assert max(row["max_queue_packets"] for row in links.values()) > 50, "lines have queues"
    (session,) = emulated.provenance["sessions"]
    (pace,) = session["pace"]
    assert (pace["origin"], pace["policy"], pace["void"]) == ("origin", "relevance", False)
    assert pace["reads"] >= SIZE // (64 << 10)
    assert pace["broke_off"] == 0


@pytest.mark.clocked
def test_the_timeline_stops_a_server(crowd: Path, tmp_path: Path) -> None:
    crowd.write_text(CROWD + STOP)
    results = ran(crowd, "emulation", tmp_path / "e")
    run = only(results, "runs")
    assert (run["outcome"], run["reason"]) == ("completed", "")
    assert run["end_s"] == pytest.approx(1.5, abs=0.1)
    simulated = ran(crowd, "simulation", tmp_path / "s")
    assert only(simulated, "runs")["outcome"] == "completed"
    real, twins = (it.tables["downloads"].to_pylist() for it in (results, simulated))
    assert [row["host"] for row in real] == [row["host"] for row in twins]
    cut = [row for row in real if row["completed_s"] is None]
    assert 0 < len(cut) < 12
    for row in cut:
        assert row["left_s"] == pytest.approx(1.5, abs=0.1)
        assert row["downloaded_bytes"] < SIZE


@pytest.mark.clocked
def test_who_has_no_patience_goes_without_the_file(crowd: Path, tmp_path: Path) -> None:
    gap = 'arrivals = { gap = "300 ms" }'
    at = ", ".join(f'"{100 * number} ms"' for number in range(6))
    leave = ", ".join(f'"{100 * number + 1000} ms"' for number in range(6))
    some = f"arrivals = {{ at = [{at}], leave = [{leave}] }}"
    text = CROWD.replace(f"in_order = true\n{gap}", f"in_order = true\n{some}")
    crowd.write_text(text.replace('"4 MiB"', '"2 MiB"'))
    results = ran(crowd, "emulation", tmp_path / "e")
    assert only(results, "runs")["outcome"] == "completed"
    rows = results.tables["downloads"].to_pylist()
    for row in rows:
        # 2 MiB take 1.7 s over 10 Mbit/s.
        stays = row["population"] == "T10"
        assert (row["completed_s"] is None) == stays, row
        if stays:
            assert row["left_s"] - row["arrived_s"] == pytest.approx(1.0, abs=0.05)
    origin = only(results, "origins")
    assert (origin["downloads"], origin["completed"]) == (12, 6)


@pytest.mark.clocked
def test_after_ctrl_c_neither_the_server_nor_its_files_are_left(
    crowd: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = tmp_path / "files"
    files.mkdir()
    monkeypatch.setenv("TMPDIR", str(files))
    crowd.write_text(CROWD.replace('"4 MiB"', '"40 MiB"'))
    with started(crowd, tmp_path / "e") as run:
        wait_for(
            lambda: any(it.stat().st_size == 40 << 20 for it in files.rglob("0")), "no file came"
        )
        nothing_is_left_after_ctrl_c(run)
    assert list(files.iterdir()) == []


def test_what_is_not_a_network_s_matter_is_refused_still(crowd: Path) -> None:
    assert list(impossible(made(plan_of(crowd)))) == [], "a loopback has no delay, loss or queue"
    with pytest.raises(PlanRejected) as refused:
        engine("loopback").check(made(plan_of(crowd)))
    assert "a delay of 10 ms; the loopback has none" in str(refused.value)
    assert "--engine emulation" in str(refused.value)
    crowd.write_text(CROWD.replace('host = "server"', 'host = "server"\ntransport = "libutp"'))
    (found,) = impossible(made(plan_of(crowd)))
    assert found.endswith("files go over the kernel's TCP; give it a TCP stack")
    crowd.write_text(CROWD + WEB_SEEDS)
    (found,) = impossible(made(plan_of(crowd)))
    assert "workloads.swarm: real clients are not told of web seeds; leave web_seeds out" in found


def test_a_server_and_its_clients_are_on_one_node(crowd: Path) -> None:
    (found,) = undivided(made(plan_of(crowd)))
    assert found.endswith("a content server and its clients are on one node; play the run on one")
    emulator = engine("emulation")
    emulator.across = ("127.0.0.1:1",)  # type: ignore[attr-defined]
    with pytest.raises(PlanRejected, match="play the run on one"):
        emulator.check(made(plan_of(crowd)))


def test_a_server_has_the_congestion_controller_of_its_stack(crowd: Path) -> None:
    other = '\n[stacks.other]\nbase = "linux-6"\ncontroller = "new-reno"\n'
    crowd.write_text(
        CROWD.replace('host = "server"', 'host = "server"\ntransport = "other"') + other
    )
    plan = plan_of(crowd)
    assert algorithms(made(plan)) == {"reno", "cubic"}
    hosts = json.loads(stack.settings(made(plan), [f"198.18.0.{it}" for it in range(1, 14)]))
    assert [it["controller"] for it in hosts] == ["reno", *[None] * 12]
    # A second server on that host, with another one.
    twin = {**plan["workloads"][0], "name": "twin", "transport": None}
    (found,) = stack.conflicts(made(plan | {"workloads": [plan["workloads"][0], twin]}))
    assert "cubic and reno are wanted there; give them hosts of their own" in found


def test_what_a_crowd_needs_is_known_before(crowd: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = plan_of(crowd)
    (need,) = engine("emulation").needs([made(plan)])
    assert need is not None
    # 12 files in segments, and an acknowledgement for every second one or seldomer.
    assert 12 * SIZE / 1448 < need.packets < 2 * 12 * SIZE / 1448
    # Six clients with gaps of 300 ms, and 3.4 s for the file.
    assert 3.4 < need.seconds < 10
    assert need.bytes > SIZE
    # A client costs nothing before it comes.
    assert budget.waiting_hosts(made(plan)) == 1
    # All lines that are there at once, and not the mean of a crowd that comes and goes.
    mean = need.packets / need.seconds
    busiest = budget.busiest(made(plan), 1, mean)
    assert 1.2 * mean < busiest < 6 * (10e6 + 44.736e6) / 8 / 1448 * 1.5
    assert budget.busiest(made(plan | {"workloads": []}), 1, 9e9) > 1e6
    with_ping = {**plans.ping(), "from": 1, "to": 0}
    assert budget.waiting_hosts(made(plan | {"workloads": [*plan["workloads"], with_ping]})) == 2
    stopped = [{"at_ns": 1_500_000_000, "kind": "stop", "workload": 0}]
    (cut,) = engine("emulation").needs([made({**plan, "timeline": stopped})])
    assert cut is not None
    assert cut.seconds == 1.5
    controllers = {"cubic": True}
    tried = Tried(None, False, None, None, controllers, 13 * 4 + 12 * 3 - 1, real_time=True)
    monkeypatch.setattr(capabilities, "_tried", lambda: tried)
    monkeypatch.setattr(capabilities, "room", lambda: SIZE - 1)
    found = [*capabilities.missing(made(plan))]
    assert any("13 hosts and 12 downloads; " in it and "ulimit -Hn" in it for it in found)
    assert any(f"programs may write {SIZE:,} B, and {SIZE - 1:,} B are free" in it for it in found)


def test_each_kind_of_line_is_probed_from_the_server(crowd: Path) -> None:
    plan = plan_of(crowd)
    assert self_test.paths(made(plan)) == [(0, 1), (0, 7)]
    assert self_test.crowd_rtts_s(made(plan)) == [0.02, 0.02]
