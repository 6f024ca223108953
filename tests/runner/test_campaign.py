"""A campaign runs what is missing, and its tables do not depend on how it came to an end."""

import json
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import pytest
from tests.late import PATIENCE_S
from tests.runner.bytes import tables
from tests.runner.fake import FakeEngine, campaign, planned

from flashcrowd.base import signals
from flashcrowd.base.signals import stopped
from flashcrowd.cli.ending import terminable
from flashcrowd.engines import EngineFault
from flashcrowd.store import ResultsDiffer, ResultsError
from flashcrowd.store import open as open_results
from flashcrowd.store.batch import Batch, files
from flashcrowd.store.manifest import Run
from flashcrowd.study.campaign import conduct
from flashcrowd.study.pool import Done, Interrupted, Job
from flashcrowd.study.threads import Threads

ROOT = Path(__file__).parents[2]


def start(folder: Path, jobs: int, pause_s: float, batch_s: float = 0.0) -> subprocess.Popen[bytes]:
    """A campaign of 16 runs in a process of its own; a batch of no time is one run."""
    numbers = [str(number) for number in (jobs, pause_s, batch_s)]
    command = [sys.executable, "-m", "tests.runner.child", str(folder), *numbers]
    return subprocess.Popen(command, cwd=ROOT, env={**os.environ, "PYTHONHASHSEED": "random"})


def kept(folder: Path) -> int:
    """How many runs the files of a results folder hold."""
    return sum(len(Batch(file).cards()[1]) for file in files(folder))


def wait_for_runs(folder: Path, count: int) -> None:
    end = time.monotonic() + 120
    while kept(folder) < count:
        assert time.monotonic() < end, "the child finished no run"
        time.sleep(0.005)


def wait_until_opened(folder: Path, child: subprocess.Popen[bytes]) -> None:
    """Until a process has the folder for itself, or has ended."""
    lock = folder / ".lock"
    while child.poll() is None:
        if lock.exists() and f"process {child.pid} on " in lock.read_text():
            return
        time.sleep(0.001)


def test_tables_hold_every_run_in_order(tmp_path: Path) -> None:
    results = conduct(campaign(), FakeEngine(), tmp_path / "r", Threads(2))
    assert results.runs.column("run").to_pylist() == [0, 1, 2, 3, 4, 5]
    assert results.runs.column("point").to_pylist() == [0, 0, 0, 1, 1, 1]
    assert results.runs.column("seed").to_pylist() == [100, 101, 102] * 2
    assert results.runs.column("network.rtt").to_pylist() == ["0 ms"] * 3 + ["400 ms"] * 3
    assert results.points.column("number").to_pylist() == [0.0, 0.4]
    assert results.downloads.num_rows == 6 * 20
    assert results.downloads.column("run").to_pylist() == sorted(list(range(6)) * 20)


def test_bytes_do_not_depend_on_jobs(tmp_path: Path) -> None:
    for jobs in (1, 2, 4):
        conduct(campaign(), FakeEngine(0.01), tmp_path / str(jobs), Threads(jobs))
    assert tables(tmp_path / "1") == tables(tmp_path / "2") == tables(tmp_path / "4")


def test_bytes_do_not_depend_on_batches(tmp_path: Path) -> None:
    counts = []
    for batch_s in (0.0, 0.02, 60.0):
        folder = tmp_path / str(batch_s)
        conduct(campaign(repeats=8), FakeEngine(0.005), folder, Threads(2, batch_s))
        assert kept(folder) == 16
        counts.append(len(files(folder)))
    assert counts[0] == 16
    assert counts[0] > counts[1] > counts[2]
    assert tables(tmp_path / "0.0") == tables(tmp_path / "0.02") == tables(tmp_path / "60.0")


def test_bytes_do_not_depend_on_the_process(tmp_path: Path) -> None:
    children = [start(tmp_path / name, jobs, 0.0) for name, jobs in (("a", 1), ("b", 3))]
    assert [child.wait(PATIENCE_S) for child in children] == [0, 0]
    conduct(campaign(repeats=8), FakeEngine(), tmp_path / "c", Threads(2))
    assert tables(tmp_path / "a") == tables(tmp_path / "b") == tables(tmp_path / "c")


def test_a_signal_that_a_library_drops_stops_all_the_same() -> None:
    def keep(batch: Sequence[Done]) -> None:
        with suppress(KeyboardInterrupt):
            signals.ask(signal.SIGTERM)

    engine = FakeEngine()
    jobs = [Job(run, planned()) for run in campaign(repeats=500).manifest.runs]
    with terminable():
        with pytest.raises(Interrupted):
            Threads(1, 0.0).execute(engine, jobs, keep)
        assert stopped() == 143
    assert 0 < len(engine.ran) < len(jobs)
    with terminable():
        signals.heed()


def test_killed_and_started_again(tmp_path: Path) -> None:
    conduct(campaign(repeats=8), FakeEngine(), tmp_path / "calm", Threads(2))
    folder = tmp_path / "killed"
    for finished in (2, 5, 9):
        child = start(folder, 2, 0.05)
        wait_for_runs(folder, finished)
        child.send_signal(signal.SIGKILL)
        child.wait()
    assert not (folder / "tables").exists()
    engine = FakeEngine()
    conduct(campaign(repeats=8), engine, folder, Threads(1))
    assert 0 < len(engine.ran) <= 16 - 9
    assert tables(folder) == tables(tmp_path / "calm")
    assert not list(folder.rglob(".unfinished-*"))


@pytest.mark.parametrize("batch_s", [0.0, 0.03])
def test_killed_at_any_instant_keeps_whole_batches(tmp_path: Path, batch_s: float) -> None:
    """Kills spread over all that happens: runs, writing, flushing, renaming, assembling."""
    conduct(campaign(repeats=8), FakeEngine(), tmp_path / "calm", Threads(2))
    folder = tmp_path / "killed"
    before = 0
    for number in range(6):
        child = start(folder, 2, 0.02, batch_s)
        wait_until_opened(folder, child)
        end = time.monotonic() + 0.02 * number
        while time.monotonic() < end and child.poll() is None:
            time.sleep(0.001)
        child.send_signal(signal.SIGKILL)
        child.wait()
        now = kept(folder)  # reads every file: what lies there is whole
        assert now >= before
        before = now
    engine = FakeEngine()
    conduct(campaign(repeats=8), engine, folder, Threads(1))
    assert len(engine.ran) == 16 - before
    assert tables(folder) == tables(tmp_path / "calm")
    assert not list(folder.rglob(".unfinished-*"))


def test_second_call_runs_nothing(tmp_path: Path) -> None:
    conduct(campaign(), FakeEngine(), tmp_path / "r", Threads(1))
    before = {p: p.stat().st_mtime_ns for p in (tmp_path / "r").rglob("*") if p.is_file()}
    engine = FakeEngine()
    conduct(campaign(), engine, tmp_path / "r", Threads(1))
    after = {p: p.stat().st_mtime_ns for p in (tmp_path / "r").rglob("*") if p.is_file()}
    assert engine.ran == []
    assert {p for p in after if before.get(p) != after[p]} <= {tmp_path / "r" / ".lock"}


def test_more_repeats_run_only_the_new_ones(tmp_path: Path) -> None:
    conduct(campaign(repeats=3), FakeEngine(), tmp_path / "r", Threads(1))
    engine = FakeEngine()
    conduct(campaign(repeats=5), engine, tmp_path / "r", Threads(1))
    assert len(engine.ran) == 4
    conduct(campaign(repeats=5), FakeEngine(), tmp_path / "calm", Threads(1))
    assert tables(tmp_path / "r") == tables(tmp_path / "calm")


def test_a_new_title_changes_no_number(tmp_path: Path) -> None:
    conduct(campaign(), FakeEngine(), tmp_path / "r", Threads(1))
    engine = FakeEngine()
    results = conduct(campaign(title="another title"), engine, tmp_path / "r", Threads(1))
    assert engine.ran == []
    assert results.study["title"] == "another title"


@pytest.mark.parametrize(
    ("other", "named"),
    [
        (campaign(peers=21), "workloads.swarm.peers: was 20, is 21"),
        (campaign(rtts=("0 ms", "500 ms")), "network.rtt: was"),
        (campaign(seed=7), "seed: was 100, is 7"),
        (campaign(repeats=2), "repeats: was 3, is 2"),
        (campaign(engine="d2"), "engine: was fake 0.0 (d1), is fake 0.0 (d2)"),
    ],
)
def test_another_study_or_version_is_refused(tmp_path: Path, other, named: str) -> None:
    folder = tmp_path / "r"
    conduct(campaign(), FakeEngine(), folder, Threads(1))
    before = tables(folder)
    engine = FakeEngine(digest=other.manifest.engine.digest)
    with pytest.raises(ResultsDiffer, match="--fresh") as caught:
        conduct(other, engine, folder, Threads(1))
    assert any(change.startswith(named) for change in caught.value.changes), caught.value.changes
    assert engine.ran == []
    assert tables(folder) == before


def test_a_fault_keeps_finished_runs_and_names_the_run(tmp_path: Path) -> None:
    engine = FakeEngine(faulty=(102,))
    with pytest.raises(EngineFault, match="point 0, repeat 2, seed 102: engine fault"):
        conduct(campaign(), engine, tmp_path / "r", Threads(1))
    assert kept(tmp_path / "r") == 2
    with pytest.raises(ResultsError, match="2 of 6 runs are finished"):
        open_results(tmp_path / "r")


def test_interrupt_keeps_finished_runs(tmp_path: Path) -> None:
    folder = tmp_path / "r"
    child = start(folder, 2, 0.2)
    wait_for_runs(folder, 3)
    child.send_signal(signal.SIGINT)
    child.wait(PATIENCE_S)
    done = kept(folder)
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
            conduct(campaign(repeats=8), FakeEngine(), folder, Threads(1))
    finally:
        child.kill()
        child.wait()


def test_a_job_can_be_sent_to_another_process() -> None:
    job = Job(Run(3, 1, 7), planned())
    assert pickle.loads(pickle.dumps(job)) == job
    assert len(pickle.dumps(job)) < 1000, "nothing of the campaign comes along"


def test_runs_are_kept_in_the_thread_that_asked(tmp_path: Path) -> None:
    keepers = set()

    class Watched(Threads):
        def execute(self, engine, jobs, keep, watch=None):
            def noted(batch):
                keepers.add(threading.current_thread())
                keep(batch)

            super().execute(engine, jobs, noted, watch)

    conduct(campaign(), FakeEngine(0.01), tmp_path / "r", Watched(3, 0.0))
    assert keepers == {threading.current_thread()}


@pytest.mark.parametrize("workers", [1, 3])
def test_what_cannot_be_kept_ends_everything(workers: int) -> None:
    """Also where workers wait to hand over more than the queue takes."""

    def full(_: object) -> None:
        raise OSError("no space")

    jobs = [Job(run, campaign(repeats=200).plans[0]) for run in campaign(repeats=200).manifest.runs]
    engine = FakeEngine()
    with pytest.raises(OSError, match="no space"):
        Threads(workers, 0.0).execute(engine, jobs, full)
    assert len(engine.ran) < 100
    assert not [one for one in threading.enumerate() if one.name.startswith("run-")]


def test_as_many_at_a_time_as_jobs(tmp_path: Path) -> None:
    engine = FakeEngine(0.05)
    conduct(campaign(), engine, tmp_path / "r", Threads(3))
    assert engine.most_at_a_time == 3


def test_folder_can_be_read_back(tmp_path: Path) -> None:
    wanted = campaign()
    results = conduct(wanted, FakeEngine(), tmp_path / "r", Threads(1))
    assert results.plan(1) == wanted.plans[1].to_json()
    assert results.study == wanted.study
    assert (tmp_path / "r" / "study.toml").read_text() == wanted.source
    provenance = results.provenance
    assert provenance["seeds"] == [100, 101, 102]
    assert provenance["sessions"][0]["runs"] == 6
    assert provenance["sessions"][0]["machine"]["cores"] >= 1
