"""Real clients over the emulated network, from the command line to the report."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.clients import testbed
from tests.emulation import occupied_lab
from tests.emulation.left_behind import (
    MARK,
    below,
    held,
    labs,
    nobody_has,
    of_run,
    parents,
    play_in,
    settings,
    started,
    wait_for,
    words_of,
)
from tests.engines.plans import made
from tests.late import PATIENCE_S, ended

import flashcrowd
from flashcrowd.cli import _status
from flashcrowd.clients import opentracker, programs
from flashcrowd.clients.client import Found
from flashcrowd.emulation import scratch, self_test
from flashcrowd.emulation.tracker_host import with_tracker_host
from flashcrowd.engines import PlanRejected, emulation
from flashcrowd.engines.emulation import Emulator
from flashcrowd.plan.parts import workload
from flashcrowd.plan.types import SwarmWorkload
from flashcrowd.store import open as open_results
from flashcrowd.study import Study

pytestmark = pytest.mark.usefixtures("measured_once")


def plan_of(study: Path) -> Any:
    (point,) = Study.load(study).points()
    return json.loads(point.plan().to_json())


def with_program(study: Path, program: str) -> None:
    """The crowd is played by another program."""
    text = study.read_text().replace("have = true\n", "")
    study.write_text(text.replace("hosts = 4\n", f'hosts = 4\nprogram = "{program}"\n'))


def test_five_peers_from_the_command_line_to_the_report(
    swarm: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "e"
    words = ["run", str(swarm), "--engine", "emulation", "--out", str(out), "--report"]
    assert _status(words) == 0
    assert "mean download time" in capsys.readouterr().out
    results = open_results(out)
    (run,) = results.tables["runs"].to_pylist()
    ended(run, "completed")
    downloads = results.tables["downloads"].to_pylist()
    assert [row["host"] for row in downloads] == [f"homes-{n}" for n in range(2, 6)]
    for row in downloads:
        # Blocks that came twice in the end game count.
        assert row["downloaded_bytes"] >= 1_000_000
        assert row["pieces"] == 16
        # Five peers upload 5.5 MB/s at most, and 4 MB are to be uploaded.
        assert 0.7 < row["duration_s"] < 40
    seed, crowd = results.tables["populations"].to_pylist()
    assert (seed["role"], seed["peers"], crowd["peers"], crowd["completed"]) == ("seed", 1, 4, 4)
    sent = seed["uploaded_bytes"] + crowd["uploaded_bytes"]
    # What is under way to somebody who is done counts as sent alone: on a busy machine a twentieth.
    assert sent == pytest.approx(crowd["downloaded_bytes"], rel=0.1)
    assert run["payload_bytes_delivered"] == crowd["downloaded_bytes"]
    have = results.tables["have"].to_pylist()
    assert {(row["peer"], row["piece"]) for row in have} == {
        (row["peer"], piece) for row in downloads for piece in range(16)
    }
    assert max(row["t_s"] for row in have) == pytest.approx(
        max(row["completed_s"] for row in downloads), abs=0.5
    )
    assert results.tables["pieces"].num_rows >= 5
    of_seed, of_crowd = results.tables["rtts"].to_pylist()
    assert (of_seed["population"], of_crowd["population"]) == ("seed", "crowd")
    for row in (of_seed, of_crowd):
        # The path takes 40 ms, and a queue of 20 Mbit/s is on it. Segments bring 1448 B at most.
        assert 0.0395 < row["min_s"] <= row["mean_s"] <= row["max_s"] < 2
    # An acknowledgement for two segments, or for more that came together: each is one sample.
    assert of_seed["samples"] > 0.25 * seed["uploaded_bytes"] / 1448
    series = {row["what"] for row in results.tables["series"].to_pylist()}
    assert series == {"online", "swarm-rate"}
    links = {row["link"]: row for row in results.tables["links"].to_pylist()}
    assert links["homes-1 up"]["bytes"] > 1_000_000
    # libtorrent does all else of its own profile.
    listed = {row["setting"] for row in results.tables["programs"].to_pylist()}
    assert {it for it in listed if not it.startswith("announce.")} == {"connections.keepalive"}
    provenance = json.loads((out / "provenance.json").read_text())
    assert provenance["programs"]["libtorrent"]
    probes = results.tables["probes"].to_pylist()
    assert len({(row["from"], row["to"]) for row in probes}) == 1
    page = (out / "report.html").read_text()
    assert "Five peers that share a file" in page
    assert "How exact was it?" in page
    assert f"of {len(probes)} probes of the paths" in page
    assert results.manifest.engine.name == "emulation"


def test_the_timeline_limits_a_swarm_and_stops_it(swarm: Path, tmp_path: Path) -> None:
    text = swarm.read_text().replace('size = "1 MB"', 'size = "40 MB"')
    swarm.write_text(
        text
        + """
[timeline.slower]
at = "1 s"
change = "workloads.swarm.populations.seed.upload"
to = "20 kB/s"

[timeline.enough]
at = "3 s"
stop = "swarm"
"""
    )
    results = flashcrowd.run(swarm, out=tmp_path / "e", progress=False, engine="emulation")
    (run,) = results.tables["runs"].to_pylist()
    ended(run, "stopped")
    if run["outcome"] != "invalid":
        assert run["reason"] == "the timeline stopped a swarm with 0 of 4 leechers complete"
    assert 3 <= run["end_s"] < 6
    seed = results.tables["populations"].to_pylist()[0]
    # 1.5 MB/s for 1 s, then 20 kB/s; without the change it would be 4.5 MB.
    assert seed["uploaded_bytes"] < 3_000_000
    assert all(row["left_s"] >= 3 for row in results.tables["downloads"].to_pylist())


@pytest.fixture
def temporary(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A place of its own for temporary files; with a short name, as there are sockets in it."""
    with tempfile.TemporaryDirectory(prefix="fc-") as folder:
        monkeypatch.setenv("TMPDIR", folder)
        monkeypatch.setattr(tempfile, "tempdir", None)
        yield Path(folder)


def test_a_client_that_is_killed_fails_its_run_and_no_other(
    swarm: Path, tmp_path: Path, temporary: Path
) -> None:
    testbed.needs("aria2")
    with_program(swarm, "aria2")
    out = tmp_path / "e"
    words = ["run", str(swarm), "--engine", "emulation", "--out", str(out), "--jobs", "1"]
    run = subprocess.Popen(
        [sys.executable, "-m", "flashcrowd", *words, "--repeats", "2", "--quiet"],
        stderr=subprocess.PIPE,
        env={**os.environ, MARK: str(out)},
    )

    def clients() -> list[int]:
        return [pid for pid in below(run.pid) if "aria2c" in words_of(pid)]

    try:
        wait_for(lambda: len(clients()) == 4, "no client came")
        first_ones = clients()
        with held(of_run(out)) as made:
            os.kill(clients()[0], signal.SIGKILL)
            wait_for(lambda: not {*clients()} & {*first_ones}, "clients of the failed run are left")
            _, said = run.communicate(timeout=240)
            assert of_run(out) == []
            assert nobody_has(made)
        assert [*temporary.iterdir()] == []
    finally:
        run.kill()
        run.wait()
    assert run.returncode == 1, said
    assert b"1 of 2 runs failed: aria2 on homes-" in said
    first, second = open_results(out).tables["runs"].to_pylist()
    assert first["outcome"] == "failed"
    assert "it was killed by SIGKILL (out of memory?)" in first["reason"]
    ended(second, "completed")
    asked = {row["setting"] for row in open_results(out).tables["programs"].to_pylist()}
    assert "choker.slots" in asked


@pytest.mark.parametrize("program", ["libtorrent", "aria2"])
def test_a_client_that_cannot_bind_fails_its_run_and_no_other(
    program: str, swarm: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    testbed.needs(program)
    with_program(swarm, program)
    loaded = Study.load(swarm, repeats=2)
    first, _ = loaded.runs()
    monkeypatch.setenv(occupied_lab.SEED, str(first.seed))
    play_in(occupied_lab, monkeypatch)
    results = flashcrowd.run(loaded, out=tmp_path / "e", progress=False, engine="emulation", jobs=1)
    failed, other = results.tables["runs"].to_pylist()
    assert failed["outcome"] == "failed"
    said, *last_lines = failed["reason"].splitlines()
    assert said.startswith(f"{program} on homes-5: ")
    assert any("Address already in use" in line for line in last_lines)
    ended(other, "completed")
    downloads = results.tables["downloads"].to_pylist()
    assert {row["run"] for row in downloads if row["completed_s"] is not None} == {1}


@pytest.mark.parametrize("victim", ["run", "lab", "first", "ctrl-c"])
def test_nothing_of_a_swarm_is_left(
    victim: str, swarm: Path, tmp_path: Path, temporary: Path
) -> None:
    """Sessions of libtorrent, and processes of aria2 where it is installed."""
    mixed = programs.PROGRAMS["aria2"].found() is not None
    if mixed:
        with_program(swarm, "aria2")
    swarm.write_text(swarm.read_text().replace('"1 MB"', '"50 MB"'))
    before = settings()
    with started(swarm, tmp_path / "e") as run:
        wait_for(lambda: len(labs(run.pid)) >= 2, "no lab came")
        # Who polls, the lab, its first process; and four clients.
        wait_for(lambda: len(below(run.pid)) >= (7 if mixed else 3), "no client came")
        family = below(run.pid)
        with held(family) as made:
            if victim == "ctrl-c":
                run.send_signal(signal.SIGINT)
            else:
                lab, first = labs(run.pid)[:2]
                os.kill({"run": run.pid, "lab": lab, "first": first}[victim], signal.SIGKILL)
            run.wait(PATIENCE_S)
            wait_for(lambda: not of_run(tmp_path / "e"), "a process is left")
            # One that is ending has no environment any more, by which `of_run` knows it.
            wait_for(lambda: not {*family} & parents().keys(), "a process is left")
            assert nobody_has(made)
    assert settings() == before
    with scratch.scratch() as own:
        there = [*temporary.glob(f"{scratch.PREFIX}*")]
        assert there == [own], "what was left has gone by the next start"


def test_a_program_that_is_not_there_is_refused_in_one_line(
    swarm: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with_program(swarm, "rtorrent")
    monkeypatch.setattr(programs.Program, "found", lambda self: None)
    words = ["run", str(swarm), "--engine", "emulation", "--out", str(tmp_path / "e")]
    assert _status(words) == 2
    said = capsys.readouterr().err.splitlines()
    place = "workloads.swarm.populations.crowd.program"
    assert f"  {place}: rtorrent is not installed; apt install rtorrent" in said
    assert "Nothing was run." in said
    assert not (tmp_path / "e").exists()


@pytest.fixture
def tracked(swarm: Path) -> Path:
    """The tracker is opentracker."""
    table = 'tracker = { host = "homes-6", program = "opentracker" }'
    swarm.write_text(swarm.read_text().replace('tracker = "homes-6"', table))
    return swarm


def test_opentracker_is_the_tracker_of_a_study(tracked: Path, tmp_path: Path) -> None:
    testbed.needs_opentracker()
    out = tmp_path / "e"
    assert _status(["run", str(tracked), "--engine", "emulation", "--out", str(out)]) == 0
    results = open_results(out)
    (run,) = results.tables["runs"].to_pylist()
    ended(run, "completed")
    assert results.tables["downloads"].num_rows == 4
    unmet = results.tables["programs"].to_pylist()
    listed = {row["setting"] for row in unmet if row["program"] == "opentracker"}
    assert "tracker.seeds_to_seeds" in listed
    assert "opentracker" in results.provenance["programs"]


def test_a_tracker_that_is_not_there_is_refused_in_one_line(
    tracked: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opentracker, "found", lambda: None)
    with pytest.raises(PlanRejected) as refused:
        Emulator().check(made(plan_of(tracked)))
    place = "workloads.swarm.tracker.program"
    assert f"{place}: opentracker is not installed; apt install opentracker" in str(refused.value)


def test_what_clients_do_not_tell_is_refused(swarm: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        programs.Program, "found", lambda self: Found(self.name, "1.0", "/usr/bin/true")
    )
    text = swarm.read_text().replace("hosts = 4\n", 'hosts = 4\nprogram = "aria2"\n')
    swarm.write_text(text.replace("have = true", "have = true\nunchokes = true"))
    with pytest.raises(PlanRejected) as refused:
        Emulator().check(made(plan_of(swarm)))
    _, *said = str(refused.value).splitlines()
    have, *unchokes = sorted(it.strip() for it in said)
    assert have.startswith("measures: have is told by libtorrent and mainline-4.0.2 alone; ")
    assert have.endswith('leave have out, or give it program = "mainline-4.0.2"')
    assert len(unchokes) == 2
    for refused in unchokes:
        assert refused.startswith("measures: unchokes is told by mainline-4.0.2 alone; ")


def test_the_simulations_peer_tells_what_the_simulation_tells(swarm: Path, tmp_path: Path) -> None:
    """The same five peers on both engines: every unchoke, every piece, the gaps between sends."""
    text = swarm.read_text().replace(
        "have = true", "have = true\nunchokes = true\nsend_gaps = true"
    )
    text = text.replace("hosts = 4\n", 'hosts = 4\nprogram = "mainline-4.0.2"\n')
    text = text.replace("hosts = 1\n", 'hosts = 1\nprogram = "mainline-4.0.2"\n')
    text = text.replace('profile = "libtorrent"', 'profile = "mainline-4.0.2"')
    swarm.write_text(text)
    found = {}
    for engine in ("emulation", "simulation"):
        out = tmp_path / engine
        assert _status(["run", str(swarm), "--engine", engine, "--out", str(out)]) == 0
        found[engine] = open_results(out).tables
    for engine, tables in found.items():
        downloads = tables["downloads"].to_pylist()
        assert len(downloads) == 4, engine
        assert tables["have"].num_rows == 4 * 16
        unchokes = tables["unchokes"].to_pylist()
        assert {row["population"] for row in unchokes} == {"seed", "crowd"}
        for row in unchokes:
            assert row["start_s"] <= row["end_s"]
            assert 0 <= row["idle_s"] <= row["end_s"] - row["start_s"] + 1e-6
            assert row["peer"] != row["remote"]
            assert (row["blocks"] > 0) == (row["bytes"] > 0)
        sent = {row["role"]: row["uploaded_bytes"] for row in tables["populations"].to_pylist()}
        of_seed = sum(row["bytes"] for row in unchokes if row["population"] == "seed")
        assert 0 < of_seed <= sent["seed"], engine
        gaps = tables["send_gaps"].to_pylist()
        assert {row["population"] for row in gaps} == {"seed", "crowd"}
        # In turns of 1380 bytes: so many sends of blocks there are.
        sends = sum(row["count"] for row in gaps)
        assert sends == pytest.approx(sum(sent.values()) / 1380, rel=0.15), engine
    assert found["emulation"]["programs"].num_rows == 0
    took = {
        engine: sorted(row["duration_s"] for row in tables["downloads"].to_pylist())
        for engine, tables in found.items()
    }
    assert took["emulation"] == pytest.approx(took["simulation"], rel=0.25), took


def test_the_versions_of_programs_are_part_of_the_identity(
    swarm: Path, study: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    transfers, swarms = Emulator(), Emulator()
    transfers.check(made(plan_of(study)))
    swarms.check(made(plan_of(swarm)))
    assert transfers.build().get("programs") == {}
    assert list(swarms.build().get("programs", {})) == ["libtorrent"]
    digests = [it.build()["engine"] for it in (transfers, swarms)]
    monkeypatch.setattr(emulation, "_versions", lambda names: (("libtorrent", "9.9"),))
    digests.append(swarms.build()["engine"])
    assert len(set(digests)) == 3


def test_a_tracker_without_a_host_gets_one(swarm: Path) -> None:
    swarm.write_text(swarm.read_text().replace('tracker = "homes-6"\n', ""))
    plan = plan_of(swarm)
    more = with_tracker_host(made(plan))
    more.check()
    assert more.network["hosts"][:-1] == plan["network"]["hosts"]
    assert more.network["hosts"][-1]["name"] == "tracker"
    assert workload(more, 0, SwarmWorkload)["tracker"]["host"] == 6
    assert with_tracker_host(more) is more
    assert self_test.paths(more) == [(0, 1), (1, 6)]


def expected_s(plan: Mapping[str, Any]) -> float:
    """How long a real run of a plan is expected to last."""
    (need,) = Emulator().needs([made(plan)])
    assert need is not None
    return need.seconds


def test_a_run_is_expected_to_last_until_what_has_an_end_is_over(swarm: Path, study: Path) -> None:
    plan = plan_of(swarm)
    # 4 MB at 1.5 MB/s and four times 1 MB/s; nobody uploads what it has not got.
    assert 4e6 / 5.5e6 < expected_s(plan) < 2.5 * 4e6 / 5.5e6
    stop = {"at_ns": 100_000_000, "kind": "stop", "workload": 0}
    assert expected_s({**plan, "timeline": [stop]}) == 0.1

    plan = plan_of(study)
    bulk = next(it for it in plan["workloads"] if it["kind"] == "transfer")
    # 4 MB through 10 Mbit/s, and headers.
    assert 3.2 < expected_s(plan) < 4
    bulk["rate_bps"] = 2_000_000
    assert 16 < expected_s(plan) < 20
    bulk["size_bytes"] = None
    assert expected_s(plan) == plan["stop"]["horizon_ns"] / 1e9
    bulk["stop_ns"] = 7_000_000_000
    assert expected_s(plan) == 7.0
