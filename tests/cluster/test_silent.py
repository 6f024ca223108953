"""A scheduler or a worker that is there and silent is named within a bound."""

from __future__ import annotations

import http.server
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from dask import config
from distributed import Client, LocalCluster
from tests.cluster.test_pool import campaign, jobs_of, pool
from tests.stopped import stand_still

from flashcrowd.base.cluster_errors import ClusterError
from flashcrowd.cluster import crew as crews
from flashcrowd.cluster import executor
from flashcrowd.cluster import pool as pools
from flashcrowd.cluster.local import ANY_PORT
from flashcrowd.engines.simulation import Simulator


def free_port() -> int:
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        return server.getsockname()[1]


@contextmanager
def program(*words: str) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen([sys.executable, "-m", *words], stderr=subprocess.DEVNULL)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def test_a_worker_that_is_reached_one_way_only_is_named(
    study: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It registers, as it reaches the scheduler; at the address that it tells, nothing listens."""
    monkeypatch.setattr(crews, "SILENT_S", 1.0)
    told = f"tcp://127.0.0.1:{free_port()}"
    with (
        config.set({"distributed.comm.timeouts.connect": "1s"}),
        LocalCluster(n_workers=0, host="127.0.0.1", dashboard_address=ANY_PORT) as cluster,
        Client(cluster, set_as_default=False) as client,
        program(
            *("distributed.cli.dask_worker", str(client.scheduler_info()["address"])),
            *("--no-nanny", "--no-dashboard", "--listen-address", "tcp://127.0.0.1:0"),
            *("--contact-address", told, "--nthreads", "1"),
        ),
    ):
        client.wait_for_workers(1, timeout=180)
        words = f"^worker {told} does not answer there: the scheduler cannot reach it"
        with pytest.raises(ClusterError, match=words):
            pool(client).execute(Simulator(), jobs_of(campaign(study)), lambda _: None)


@contextmanager
def silent() -> Iterator[int]:
    """Something that takes connections and says nothing."""
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        yield server.getsockname()[1]


@contextmanager
def another() -> Iterator[int]:
    """A web server, as the scheduler's own dashboard is."""
    handler = http.server.BaseHTTPRequestHandler
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_port
        server.shutdown()


@pytest.mark.parametrize("there", [silent, another])
def test_what_is_no_scheduler_is_refused_in_time(
    there: Callable[[], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(executor, "CONNECT_S", 1.0)
    with there() as port, executor._silent():
        address = f"tcp://127.0.0.1:{port}"
        began = time.monotonic()
        with (
            pytest.raises(ClusterError, match=f"no Dask scheduler answers at {address}"),
            executor._connected(address),
        ):
            pass
        assert time.monotonic() - began < 3 * executor.CONNECT_S


def test_no_call_of_a_client_waits_without_end() -> None:
    """A limit stands with each, so that what is stopped or cut off is named: no default."""
    with pytest.raises(TypeError, match="wait_s"):
        crews.apart(list)  # type: ignore[call-arg]


def test_a_scheduler_that_stops_answering_under_way_is_lost(
    long_study: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its process is stopped: connections stay, and nothing comes."""
    monkeypatch.setattr(crews, "SCHEDULER_S", 15.0)
    monkeypatch.setattr(pools, "FETCH_S", 30.0)
    address = f"tcp://127.0.0.1:{free_port()}"
    where = address.rpartition(":")[2]
    kept: list[Any] = []
    told: list[str] = []
    with (
        program(
            *("distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", where),
            "--no-dashboard",
        ) as scheduler,
        program(
            *("distributed.cli.dask_worker", address, "--nthreads", "1", "--no-dashboard"),
            "--no-nanny",
        ),
        executor._silent(),
        Client(address, timeout=180, set_as_default=False) as client,
    ):
        client.wait_for_workers(1, timeout=180)

        def stop(finished: int, work: float, workers: int | None = None) -> None:
            if finished:
                stand_still(scheduler.pid)

        end = threading.Timer(200, scheduler.kill)
        end.start()
        workers = pool(client, task_s=0.0, tell=told.append)
        with pytest.raises(ClusterError, match="lost the test's scheduler: see that it runs"):
            workers.execute(Simulator(), jobs_of(campaign(long_study)), kept.extend, stop)
        end.cancel()
        assert scheduler.poll() is None, "it was waited for"
        client.close(timeout=1)
    assert kept, "finished runs are kept"
    assert not any("answer" in text for text in told), "nobody is asked who does not answer"
