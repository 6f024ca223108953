"""`flashcrowd run --on`, as a process."""

import signal
import socket
import time
from pathlib import Path

import psutil
import pytest
from distributed import Client
from tests.cluster.crew import answers, under_way
from tests.runner.bytes import tables
from tests.runner.test_command import command, done, wait_for_runs

from flashcrowd.base.cluster_errors import ClusterError
from flashcrowd.cluster import executor
from flashcrowd.cluster.executor import Executor


def at(client: Client) -> str:
    """What `--on` says of a scheduler."""
    return str(client.scheduler_info()["address"]).replace("tcp:", "dask:")


def test_a_scheduler_that_is_elsewhere(study: Path, tmp_path: Path, client: Client) -> None:
    words = ("run", study, "--quiet", "--on", at(client), "--out", tmp_path / "r")
    assert done(*words) == (0, "", "")
    assert done("run", study, "--quiet", "--out", tmp_path / "calm")[0] == 0
    assert tables(tmp_path / "r") == tables(tmp_path / "calm")


def test_a_signal_leaves_nothing_at_a_scheduler(
    long_study: Path, tmp_path: Path, client: Client
) -> None:
    words = ("--repeats", 40, "--on", at(client), "--out", tmp_path / "r")
    process = command("run", long_study, *words)
    wait_for_runs(tmp_path / "r")
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 128 + signal.SIGTERM, err
    assert "of 80 runs are finished and kept" in err
    assert "Traceback" not in err
    assert not under_way(client)
    assert set(answers(client, runs_under_way).values()) == {0}


def runs_under_way() -> int:
    from flashcrowd.cluster import task

    return len(task._LIVE._handles)


def test_a_signal_leaves_no_local_worker(long_study: Path, tmp_path: Path) -> None:
    words = ("--repeats", 40, "--on", "local:1", "--out", tmp_path / "r")
    process = command("run", long_study, *words)
    wait_for_runs(tmp_path / "r")
    workers = psutil.Process(process.pid).children(recursive=True)
    assert workers
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 128 + signal.SIGINT, err
    assert "Go on with: flashcrowd run" in err
    assert "Traceback" not in err
    end = time.monotonic() + 10
    while any(worker.is_running() for worker in workers):
        assert time.monotonic() < end, "a worker is left"
        time.sleep(0.05)


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


@pytest.mark.parametrize("host", ["127.0.0.1", "nowhere.invalid"])
def test_no_scheduler_answers(monkeypatch: pytest.MonkeyPatch, host: str) -> None:
    monkeypatch.setattr(executor, "CONNECT_S", 0.5)
    address = f"{host}:{free_port()}"
    there = Executor.parse(f"dask://{address}")
    with (
        pytest.raises(ClusterError, match=f"no Dask scheduler answers at tcp://{address}: "),
        executor.opened(there, "simulation"),
    ):
        pass


@pytest.mark.parametrize(
    "text", ["local:0", "local:-1", "dask://here", "here:8786", "slurm", "dask://a b:1", ""]
)
def test_places_that_nobody_knows(text: str) -> None:
    with pytest.raises(ClusterError, match=r"--on .*: dask://HOST:PORT, local:WORKERS, "):
        Executor.parse(text)


def test_an_emulated_study_stays_here() -> None:
    with (
        pytest.raises(ClusterError, match="use --shard on each machine, or --on enoslib:"),
        executor.opened(Executor.parse("local:2"), "emulation"),
    ):
        pass


def test_nodes_of_a_testbed_are_no_workers() -> None:
    there = Executor.parse("enoslib:nodes.toml")
    with pytest.raises(ClusterError, match="shards go"), executor.opened(there, "simulation"):
        pass


def test_a_mistake_begins_nothing(study: Path) -> None:
    status, out, err = done("run", study, "--on", "local:0", cwd=study.parent)
    assert (status, out) == (2, "")
    assert err.splitlines()[0].startswith("--on local:0: ")
    assert not (study.parent / "results").exists()
