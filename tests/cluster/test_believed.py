"""What workers give back is held against what was asked for: anything else names the worker."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from distributed import Client
from tests.cluster.test_lost import ended, execution
from tests.cluster.test_pool import calm, campaign, pool
from tests.runner.bytes import tables
from tests.runner.fake import planned

from flashcrowd._core import Plan
from flashcrowd.base.cluster_errors import ClusterError
from flashcrowd.cluster import crew as crews
from flashcrowd.cluster import pool as pools
from flashcrowd.cluster import task as tasks
from flashcrowd.cluster.memory import nothing
from flashcrowd.engines import EngineError
from flashcrowd.engines.simulation import Simulator
from flashcrowd.store.manifest import Run
from flashcrowd.study.campaign import conduct
from flashcrowd.study.execution import carry_out
from flashcrowd.study.pool import Job
from flashcrowd.study.threads import Threads


def few(outcome: Any) -> Any:
    return dataclasses.replace(outcome, finished=outcome.finished[:-1])


def others(outcome: Any) -> Any:
    def other(one: Any) -> Any:
        return dataclasses.replace(one, run=dataclasses.replace(one.run, repeat=one.run.repeat + 1))

    return dataclasses.replace(outcome, finished=[other(one) for one in outcome.finished])


def swapped(outcome: Any) -> Any:
    """The tables of another run."""
    first, *more = outcome.finished
    mixed = [dataclasses.replace(one, tables=first.tables) for one in more]
    return dataclasses.replace(outcome, finished=[first, *mixed])


def _with_tables(outcome: Any, change: Callable[[bytes], bytes], honest: bool) -> Any:
    def other(one: Any) -> Any:
        made = {name: change(data) for name, data in one.tables.items()}
        digest = tasks._digest(one.run, made) if honest else one.digest
        return dataclasses.replace(one, tables=made, digest=digest)

    return dataclasses.replace(outcome, finished=[other(one) for one in outcome.finished])


def flipped(outcome: Any) -> Any:
    return _with_tables(outcome, lambda data: data[:9] + bytes([data[9] ^ 1]) + data[10:], False)


def junk(outcome: Any) -> Any:
    return _with_tables(outcome, lambda _: b"no table", True)


def nameless(outcome: Any) -> Any:
    def other(one: Any) -> Any:
        made = {"of its own": next(iter(one.tables.values()))}
        return dataclasses.replace(one, tables=made, digest=tasks._digest(one.run, made))

    return dataclasses.replace(outcome, finished=[other(one) for one in outcome.finished])


def text(_: Any) -> Any:
    return "done"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (few, r"it has \d+ of \d+ runs"),
        (others, "its runs are others than were asked for"),
        (swapped, "its digest is another one than on its way out"),
        (flipped, "its digest is another one than on its way out"),
        (junk, "ArrowInvalid"),
        (nameless, "of its own"),
        (text, "it is of the type str"),
    ],
)
def test_what_is_no_result_names_its_worker_and_poisons_nothing(
    change: Callable[[Any], Any],
    said: str,
    study: Path,
    tmp_path: Path,
    client: Client,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    outcomes = pools._Execution._outcomes

    def gather(self: Any, futures: Any) -> list[Any]:
        return [change(outcome) for outcome in outcomes(self, futures)]

    monkeypatch.setattr(pools._Execution, "_outcomes", gather)
    with pytest.raises(ClusterError, match=f"^worker tcp://127.* gave back no result: .*{said}"):
        conduct(campaign(study), Simulator(), tmp_path / "r", pool(client))
    monkeypatch.undo()
    conduct(campaign(study), Simulator(), tmp_path / "r", Threads(1))
    assert tables(tmp_path / "r") == calm(study, tmp_path / "calm")


def test_what_cannot_be_fetched_names_its_worker(
    study: Path, tmp_path: Path, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Stuck:
        def __reduce__(self) -> Any:
            raise RuntimeError("it cannot be sent")

    def perform(task: Any) -> Any:
        return Stuck()

    monkeypatch.setattr(tasks, "perform", perform)
    with pytest.raises(
        ClusterError, match=r"worker .*: what it made cannot be fetched \(TypeError"
    ):
        conduct(campaign(study), Simulator(), tmp_path / "r", pool(client))


def test_what_never_comes_is_not_waited_for(study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made, _ = execution(study)
    made.client.gather = lambda _: time.sleep(60)
    made.client.who_has = lambda _: {}
    monkeypatch.setattr(pools, "FETCH_S", 0.2)
    with pytest.raises(ClusterError, match=r"worker of x: what it made cannot be fetched \(not wi"):
        made._outcomes([ended(RuntimeError("none"))])


def test_a_run_that_finds_no_memory_is_named() -> None:
    class Small(Simulator):
        def run(self, plan: Plan, seed: int, handle: Any) -> Any:
            raise MemoryError

    engine = Small()
    with pytest.raises(EngineError, match=r"point 3, repeat 1, seed 77: MemoryError: .*ulimit -v"):
        carry_out(engine, Job(Run(3, 1, 77), planned()), engine.handle(), 0)


def test_an_error_of_a_worker_names_its_run(study: Path) -> None:
    made, jobs = execution(study)
    words = r"cannot carry out runs \(RuntimeError: odd\).* point 0, repeat 0, seed \d+: look at"
    with pytest.raises(ClusterError, match=words):
        made._gone(ended(RuntimeError("odd")), jobs)


def test_a_worker_that_is_reached_one_way_only_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    about = {"nthreads": 1, "memory_limit": 0}
    client = SimpleNamespace(
        scheduler_info=lambda: {"workers": {"tcp://10.0.0.9:1": about}},
        get_versions=lambda: {"client": {"packages": {}}, "workers": {}},
        run=lambda *_, **__: {},
    )
    crew = crews.Crew(cast("Client", client), Simulator(), nothing)
    crew.look()
    assert crew.workers == 1, "it may just have come"
    monkeypatch.setattr(crews, "SILENT_S", 0.0)
    with pytest.raises(ClusterError, match=r"^worker tcp://10\.0\.0\.9:1 does not answer there: "):
        crew.look()
