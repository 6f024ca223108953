"""Runs on two real worker processes: same bytes, whatever happens to the workers."""

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from distributed import Client
from tests.cluster.crew import answers, processing, under_way
from tests.runner.bytes import tables

from flashcrowd._core import Plan
from flashcrowd.base.cluster_errors import ClusterError
from flashcrowd.base.need import Need
from flashcrowd.cluster.pool import Dask
from flashcrowd.engines import Build, EngineFault
from flashcrowd.engines.simulation import Simulator
from flashcrowd.study import Study
from flashcrowd.study.campaign import Campaign, conduct
from flashcrowd.study.runner import prepare
from flashcrowd.study.threads import Threads


def campaign(path: Path, engine: Simulator | None = None) -> Campaign:
    return prepare(Study.load(path), engine or Simulator())


def pool(client: Client, **options) -> Dask:
    return Dask(client, "the test's scheduler", **options)


def calm(path: Path, folder: Path) -> dict[str, bytes]:
    """The tables of a study as this process alone makes them."""
    conduct(campaign(path), Simulator(), folder, Threads(1))
    return tables(folder)


@pytest.mark.parametrize("task_s", [0.0, 3.0])
def test_the_tables_are_those_of_one_machine(
    study: Path, tmp_path: Path, client: Client, task_s: float
) -> None:
    workers = pool(client, task_s=task_s)
    results = conduct(campaign(study), Simulator(), tmp_path / "r", workers)
    assert tables(tmp_path / "r") == calm(study, tmp_path / "calm")
    (session,) = results.provenance["sessions"]
    (machine,) = session["workers"]
    assert machine["host"] == os.uname().nodename
    assert machine["cores"] == os.cpu_count()


def test_a_killed_worker_changes_nothing(long_study: Path, tmp_path: Path, client: Client) -> None:
    killed: list[int] = []

    def kill() -> None:
        while not under_way(client):
            time.sleep(0.01)
        time.sleep(0.2)  # inside of a run
        busy = next(address for address, keys in processing(client).items() if keys)
        killed.extend(answers(client, os.getpid, workers=[busy]).values())
        os.kill(killed[0], signal.SIGKILL)

    thread = threading.Thread(target=kill)
    thread.start()
    conduct(campaign(long_study), Simulator(), tmp_path / "r", pool(client))
    thread.join()
    assert tables(tmp_path / "r") == calm(long_study, tmp_path / "calm")
    client.wait_for_workers(2, timeout=30)
    assert killed[0] not in answers(client, os.getpid).values()


def test_what_is_kept_goes_on_elsewhere(study: Path, tmp_path: Path, client: Client) -> None:
    class Enough(Exception):
        pass

    def stop(finished: int, work: float, workers: int | None = None) -> None:
        if finished:
            raise Enough

    wanted = campaign(study)
    kept = []
    with pytest.raises(Enough):
        pool(client, task_s=0.0).execute(Simulator(), jobs_of(wanted), kept.extend, stop)
    assert wait(lambda: not under_way(client))
    conduct(wanted, Simulator(), tmp_path / "r", Threads(1))
    conduct(campaign(study), Simulator(), tmp_path / "r", pool(client))
    assert tables(tmp_path / "r") == calm(study, tmp_path / "calm")


def jobs_of(wanted: Campaign):
    from flashcrowd.study.pool import Job

    return [Job(run, wanted.plans[run.point]) for run in wanted.manifest.runs]


def wait(condition: Callable[[], bool], seconds: float = 20) -> bool:
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def test_runs_and_workers_are_counted(study: Path, client: Client) -> None:
    seen: list[tuple[int, int | None]] = []

    def watch(finished: int, work: float, workers: int | None = None) -> None:
        seen.append((finished, workers))

    wanted = campaign(study)
    pool(client).execute(Simulator(), jobs_of(wanted), lambda _: None, watch)
    assert seen[-1] == (8, 2)


class OtherSources(Simulator):
    def build(self) -> Build:
        return {**super().build(), "engine": "0123456789abcdef"}


class Large(Simulator):
    def needs(self, plans: Sequence[Plan]) -> list[Need | None]:
        return [Need(1, 1, 1.0, 1 << 50, 1.0) for _ in plans]


@pytest.mark.parametrize(
    ("engine", "named"),
    [
        (
            OtherSources(),
            [
                "worker tcp://127.0.0.1:",
                " has other code (engine {digest} there, 0123456789abcdef here)",
            ],
        ),
        (
            Large(),
            ["2 workers on {host} have too little memory: ", " 2 runs at a time are expected to "],
        ),
    ],
    ids=["other code", "memory"],
)
def test_a_worker_that_cannot_is_refused(
    study: Path, tmp_path: Path, client: Client, engine: Simulator, named: list[str]
) -> None:
    with pytest.raises(ClusterError) as caught:
        conduct(campaign(study, engine), engine, tmp_path / "r", pool(client))
    text = str(caught.value)
    known = {"digest": Simulator().build()["engine"], "host": os.uname().nodename}
    begin, then = (part.format(**known) for part in named)
    assert text.startswith(begin)
    assert then in text
    assert "\n" not in text
    assert not list((tmp_path / "r" / "runs").iterdir())
    assert not under_way(client)


def test_force_compares_no_memory(study: Path, tmp_path: Path, client: Client) -> None:
    conduct(campaign(study), Large(), tmp_path / "r", pool(client, force=True))


def test_a_worker_without_the_package_is_refused(study: Path, client: Client) -> None:
    module = "flashcrowd.cluster.identity"

    def hide() -> None:
        sys.hidden = sys.modules[module]  # type: ignore[attr-defined]
        sys.modules[module] = None  # type: ignore[assignment]

    def show() -> None:
        sys.modules[module] = sys.hidden  # type: ignore[attr-defined]

    client.run(hide)
    try:
        with pytest.raises(ClusterError, match=r"install flashcrowd .* in its environment"):
            pool(client).execute(Simulator(), jobs_of(campaign(study)), lambda _: None)
    finally:
        client.run(show)


def test_a_fault_names_the_run_and_keeps_others(
    study: Path, tmp_path: Path, client: Client
) -> None:
    wanted = campaign(study)
    plans = (wanted.plans[0], wanted.plans[1].with_(stop={"horizon_ns": 0, "stall_ns": 1}))
    jobs = [type(job)(job.run, plans[job.run.point]) for job in jobs_of(wanted)]

    class Blind(Simulator):
        def needs(self, plans: Sequence[Plan]) -> list[Need | None]:
            return [Need(1, 1, 0.02, 1, 1.0) for _ in plans]

    kept = []
    with pytest.raises(Exception, match=r"point 1, repeat 0, seed [0-9]+: ") as caught:
        pool(client).execute(Blind(), jobs, kept.extend)
    assert not isinstance(caught.value, EngineFault | ClusterError)
    assert {done.run for done in kept} <= {run for run in wanted.manifest.runs if run.point == 0}
    assert wait(lambda: not under_way(client))
