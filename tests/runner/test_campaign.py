"""A campaign runs what is missing, and its tables do not depend on how it came to an end."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.runner.bytes import tables
from tests.runner.fake import FakeEngine, campaign

from flashcrowd.engines import EngineFault
from flashcrowd.engines.pool import Interrupted
from flashcrowd.store import ResultsDiffer, ResultsError
from flashcrowd.store import open as open_results
from flashcrowd.study.campaign import conduct

ROOT = Path(__file__).parents[2]


def start(folder: Path, jobs: int, pause_s: float) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "tests.runner.child", str(folder), str(jobs), str(pause_s)]
    return subprocess.Popen(command, cwd=ROOT, env={**os.environ, "PYTHONHASHSEED": "random"})


def wait_for_runs(folder: Path, count: int) -> None:
    end = time.monotonic() + 30
    while len(list((folder / "runs").glob("p*"))) < count:
        assert time.monotonic() < end, "the child finished no run"
        time.sleep(0.005)


def test_tables_hold_every_run_in_order(tmp_path: Path) -> None:
    results = conduct(campaign(), FakeEngine(), tmp_path / "r", jobs=2)
    assert results.runs.column("run").to_pylist() == [0, 1, 2, 3, 4, 5]
    assert results.runs.column("point").to_pylist() == [0, 0, 0, 1, 1, 1]
    assert results.runs.column("seed").to_pylist() == [100, 101, 102] * 2
    assert results.runs.column("network.rtt").to_pylist() == ["0 ms"] * 3 + ["400 ms"] * 3
    assert results.points.column("number").to_pylist() == [0.0, 0.4]
    assert results.downloads.num_rows == 6 * 20
    assert results.downloads.column("run").to_pylist() == sorted(list(range(6)) * 20)


def test_bytes_do_not_depend_on_jobs(tmp_path: Path) -> None:
    for jobs in (1, 2, 4):
        conduct(campaign(), FakeEngine(0.01), tmp_path / str(jobs), jobs)
    assert tables(tmp_path / "1") == tables(tmp_path / "2") == tables(tmp_path / "4")


def test_bytes_do_not_depend_on_the_process(tmp_path: Path) -> None:
    children = [start(tmp_path / name, jobs, 0.0) for name, jobs in (("a", 1), ("b", 3))]
    assert [child.wait(60) for child in children] == [0, 0]
    conduct(campaign(repeats=8), FakeEngine(), tmp_path / "c", jobs=2)
    assert tables(tmp_path / "a") == tables(tmp_path / "b") == tables(tmp_path / "c")


def test_killed_and_started_again(tmp_path: Path) -> None:
    conduct(campaign(repeats=8), FakeEngine(), tmp_path / "calm", jobs=2)
    folder = tmp_path / "killed"
    for finished in (2, 5, 9):
        child = start(folder, 2, 0.05)
        wait_for_runs(folder, finished)
        child.send_signal(signal.SIGKILL)
        child.wait()
    assert not (folder / "tables").exists()
    engine = FakeEngine()
    conduct(campaign(repeats=8), engine, folder, jobs=1)
    assert 0 < len(engine.ran) <= 16 - 9
    assert tables(folder) == tables(tmp_path / "calm")
    assert not list(folder.rglob(".unfinished-*"))


def test_second_call_runs_nothing(tmp_path: Path) -> None:
    conduct(campaign(), FakeEngine(), tmp_path / "r", jobs=1)
    before = {p: p.stat().st_mtime_ns for p in (tmp_path / "r").rglob("*") if p.is_file()}
    engine = FakeEngine()
    conduct(campaign(), engine, tmp_path / "r", jobs=1)
    after = {p: p.stat().st_mtime_ns for p in (tmp_path / "r").rglob("*") if p.is_file()}
    assert engine.ran == []
    assert {p for p in after if before.get(p) != after[p]} <= {tmp_path / "r" / ".lock"}


def test_more_repeats_run_only_the_new_ones(tmp_path: Path) -> None:
    conduct(campaign(repeats=3), FakeEngine(), tmp_path / "r", jobs=1)
    engine = FakeEngine()
    conduct(campaign(repeats=5), engine, tmp_path / "r", jobs=1)
    assert len(engine.ran) == 4
    conduct(campaign(repeats=5), FakeEngine(), tmp_path / "calm", jobs=1)
    assert tables(tmp_path / "r") == tables(tmp_path / "calm")


def test_a_new_title_changes_no_number(tmp_path: Path) -> None:
    conduct(campaign(), FakeEngine(), tmp_path / "r", jobs=1)
    engine = FakeEngine()
    results = conduct(campaign(title="another title"), engine, tmp_path / "r", jobs=1)
    assert engine.ran == []
    assert results.study["title"] == "another title"


@pytest.mark.parametrize(
    ("other", "named"),
    [
        (campaign(peers=21), "workloads.swarm.peers: was 20, is 21"),
        (campaign(rtts=("0 ms", "500 ms")), "network.rtt: was"),
        (campaign(seed=7), "seed: was 100, is 7"),
        (campaign(repeats=2), "repeats: was 3, is 2"),
        (campaign(digest="d2"), "engine: was fake 0.0 (d1), is fake 0.0 (d2)"),
    ],
)
def test_another_study_or_version_is_refused(tmp_path: Path, other, named: str) -> None:
    folder = tmp_path / "r"
    conduct(campaign(), FakeEngine(), folder, jobs=1)
    before = tables(folder)
    engine = FakeEngine(digest=other.manifest.engine.digest)
    with pytest.raises(ResultsDiffer, match="--fresh") as caught:
        conduct(other, engine, folder, jobs=1)
    assert any(change.startswith(named) for change in caught.value.changes), caught.value.changes
    assert engine.ran == []
    assert tables(folder) == before


def test_a_fault_keeps_finished_runs_and_names_the_run(tmp_path: Path) -> None:
    engine = FakeEngine(faulty=(102,))
    with pytest.raises(EngineFault, match="point 0, repeat 2, seed 102: engine fault"):
        conduct(campaign(), engine, tmp_path / "r", jobs=1)
    assert len(list((tmp_path / "r" / "runs").iterdir())) == 2
    with pytest.raises(ResultsError, match="2 of 6 runs are finished"):
        open_results(tmp_path / "r")


def test_interrupt_keeps_finished_runs(tmp_path: Path) -> None:
    folder = tmp_path / "r"
    child = start(folder, 2, 0.2)
    wait_for_runs(folder, 3)
    begin = time.monotonic()
    child.send_signal(signal.SIGINT)
    child.wait(10)
    assert time.monotonic() - begin < 5
    done = len(list((folder / "runs").glob("p*")))
    assert 3 <= done < 16
    sessions = json.loads((folder / "provenance.json").read_text())["sessions"]
    assert [session["runs"] for session in sessions] == [done]


def test_interrupt_is_a_keyboard_interrupt() -> None:
    assert issubclass(Interrupted, KeyboardInterrupt)


def test_two_writers_exclude_each_other(tmp_path: Path) -> None:
    folder = tmp_path / "r"
    child = start(folder, 1, 0.5)
    try:
        wait_for_runs(folder, 1)
        with pytest.raises(ResultsError, match=f"another process .process {child.pid}"):
            conduct(campaign(repeats=8), FakeEngine(), folder, jobs=1)
    finally:
        child.kill()
        child.wait()


def test_as_many_at_a_time_as_jobs(tmp_path: Path) -> None:
    engine = FakeEngine(0.05)
    conduct(campaign(), engine, tmp_path / "r", jobs=3)
    assert engine.most_at_a_time == 3


def test_folder_can_be_read_back(tmp_path: Path) -> None:
    wanted = campaign()
    results = conduct(wanted, FakeEngine(), tmp_path / "r", jobs=1)
    assert results.plan(1) == wanted.plans[1]
    assert results.study == wanted.study
    assert (tmp_path / "r" / "study.toml").read_text() == wanted.source
    provenance = results.provenance
    assert provenance["seeds"] == [100, 101, 102]
    assert provenance["sessions"][0]["runs"] == 6
    assert provenance["sessions"][0]["machine"]["cores"] >= 1
