"""A scheduler in this process, and workers of its own on this machine."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from flashcrowd.base.cluster_errors import ClusterError
from flashcrowd.base.signals import how_it_ended

if TYPE_CHECKING:
    from distributed import Client

START_S = 60.0
"""How long workers have until the first is there, in seconds."""

END_S = 5.0
"""How long workers have to end, in seconds."""

ANY_PORT = "127.0.0.1:0"
"""Where a scheduler in this process answers browsers: any free port, as no browser asks."""

QUIET = {
    # The statistical profiler takes a quarter of a core beside a busy worker where system calls are
    # expensive, and its results are not used.
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.system-monitor.interval": "10s",
}
"""Dask's settings for processes that are ours alone."""


def environment() -> dict[str, str]:
    """`QUIET` as the environment of a worker."""
    names = {key: key.upper().replace(".", "__").replace("-", "_") for key in QUIET}
    return {f"DASK_{names[key]}": str(value) for key, value in QUIET.items()}


@contextmanager
def local_workers(count: int) -> Iterator[Client]:
    """This number of worker processes with one thread each; they end with the block.

    They have a session of their own, so that Ctrl-C in a terminal reaches this process alone. If
    this process is killed, they end as soon as they miss the scheduler.

    Raises:
        ClusterError: none of them started.
    """
    from dask import config
    from distributed import Client, LocalCluster

    with (
        config.set(QUIET),
        tempfile.TemporaryDirectory(prefix="flashcrowd-", ignore_cleanup_errors=True) as scratch,
        LocalCluster(n_workers=0, host="127.0.0.1", dashboard_address=ANY_PORT) as cluster,
        Client(cluster, set_as_default=False) as client,
        _started(str(client.scheduler_info()["address"]), count, Path(scratch)) as workers,
    ):
        _wait(client, workers, Path(scratch))
        yield client


@contextmanager
def _started(address: str, count: int, scratch: Path) -> Iterator[subprocess.Popen[bytes]]:
    words = [sys.executable, "-m", "distributed.cli.dask_worker", address]
    words += ["--nworkers", str(count), "--nthreads", "1", "--memory-limit", "0"]
    words += ["--no-dashboard", "--death-timeout", "30", "--local-directory", str(scratch)]
    paths = [str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")]
    more = {**environment(), "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    with (scratch / "log").open("wb") as log:
        process = subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env=os.environ | more,
            start_new_session=True,
        )
    try:
        yield process
    finally:
        _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End all processes of a session, in time or by force."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(END_S)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _wait(client: Client, workers: subprocess.Popen[bytes], scratch: Path) -> None:
    end = time.monotonic() + START_S
    while not client.scheduler_info()["workers"]:
        if workers.poll() is not None or time.monotonic() > end:
            said = (scratch / "log").read_text(encoding="utf-8", errors="replace").split("\n")
            last = next((line for line in reversed(said) if line.strip()), "they said nothing")
            status = workers.poll()
            late = (
                f"none within {START_S:g} s" if status is None else f"dask {how_it_ended(status)}"
            )
            raise ClusterError(f"local workers did not start ({late}): {last.strip()}")
        time.sleep(0.05)
