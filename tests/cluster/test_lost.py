"""Schedulers that go, and runs that take their workers with them."""

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from distributed import Client, LocalCluster
from distributed.scheduler import KilledWorker
from tests.cluster.test_pool import campaign, jobs_of

from flashcrowd.base.cluster_errors import ClusterError
from flashcrowd.cluster import executor
from flashcrowd.cluster import pool as pools
from flashcrowd.cluster.crew import Crew
from flashcrowd.cluster.executor import Executor
from flashcrowd.cluster.groups import Groups
from flashcrowd.cluster.local import ANY_PORT
from flashcrowd.cluster.memory import nothing
from flashcrowd.cluster.pool import Dask
from flashcrowd.cluster.task import OtherCode
from flashcrowd.engines.simulation import Simulator


def test_a_scheduler_that_goes_is_named(study: Path) -> None:
    """While its workers are waited for, which is said."""
    told: list[str] = []
    cluster = LocalCluster(n_workers=0, host="127.0.0.1", dashboard_address=ANY_PORT)
    with Client(cluster, set_as_default=False) as client:
        closing = threading.Timer(0.5, cluster.close)
        closing.start()
        pool = Dask(client, "dask://there:1", tell=told.append)
        with pytest.raises(ClusterError, match="lost dask://there:1: "):
            pool.execute(Simulator(), jobs_of(campaign(study)), lambda _: None)
        closing.join()
    assert told == ["dask://there:1 has no worker: waiting for one"]


def test_dask_says_nothing_on_its_own(caplog: pytest.LogCaptureFixture) -> None:
    logger = logging.getLogger("distributed.client")
    logger.setLevel(logging.WARNING)  # as Dask's settings have it
    with executor._silent():
        logger.error("Failed to reconnect to scheduler")
    assert not caplog.records
    logger.error("heard again")
    assert [record.message for record in caplog.records] == ["heard again"]


def test_a_connection_that_breaks_while_it_is_closed_says_nothing(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    @contextmanager
    def connected(address: str) -> Iterator[None]:
        yield
        logging.getLogger("distributed.client").error("cannot reconnect to %s", address)

    monkeypatch.setattr(executor, "_connected", connected)
    with executor.opened(Executor.parse("dask://there:1"), "simulation"):
        pass
    assert not caplog.records


def ended(error: Exception) -> Any:
    """A future of a task that has no outcome."""
    return SimpleNamespace(status="error", exception=lambda: error)


def execution(study: Path) -> tuple[Any, list]:
    wanted = jobs_of(campaign(study))
    engine = Simulator()
    client = cast("Client", SimpleNamespace(status="running"))
    groups = Groups(wanted, lambda _: 0.01)
    crew = Crew(client, engine, nothing)
    made = pools._Execution(Dask(client, "x"), client, crew, engine, groups, lambda _: None, 5000)
    return made, groups.take(1)


def killed() -> Any:
    return ended(KilledWorker("task", cast("Any", None), 3))


def test_a_run_that_kills_its_workers_is_found_alone(study: Path) -> None:
    made, jobs = execution(study)
    assert len(jobs) > 1
    made._gone(killed(), jobs)
    for job in jobs:
        assert made.groups.take(1) == [job]
    for _ in range(pools.DEATHS - 1):
        made._gone(killed(), jobs[:1])
    with pytest.raises(ClusterError, match=r"point 0, repeat 0, seed [0-9]+: .* 5 kB of memory"):
        made._gone(killed(), jobs[:1])


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (OtherCode("engine a there, b here"), "has other code (engine a there, b here)"),
        (ModuleNotFoundError("No module named 'flashcrowd'"), "install flashcrowd "),
    ],
)
def test_a_late_worker_that_cannot_is_refused(study: Path, error: Exception, said: str) -> None:
    made, jobs = execution(study)
    with pytest.raises(ClusterError) as caught:
        made._gone(ended(error), jobs)
    assert said in str(caught.value)
