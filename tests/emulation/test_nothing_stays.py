"""However a run ends, no namespace, interface or process of it is left; two runs do not meet."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import pytest
from tests.emulation import broken_lab, lost_lab
from tests.emulation.left_behind import (
    MARK,
    below,
    controllers,
    held,
    held_until_it_ends,
    labs,
    nobody_has,
    nothing_is_left_after_ctrl_c,
    of_run,
    parents,
    play_in,
    settings,
    started,
    wait_for,
)
from tests.emulation.on_the_wire import OfTheLab
from tests.late import PATIENCE_S, ended

import flashcrowd
from flashcrowd.base.errors import EngineError
from flashcrowd.base.messages import Order, encoded
from flashcrowd.drawing.blocks import Text
from flashcrowd.emulation import launch, stack
from flashcrowd.emulation.launch import LabHandle
from flashcrowd.engines import emulation
from flashcrowd.report import emulated
from flashcrowd.store import open as open_results
from flashcrowd.study import Study


@pytest.fixture
def long_study(study: Path) -> Path:
    """A run that does not end by itself for a while."""
    study.write_text(study.read_text().replace('size = "4 MB"', 'stop = "19 s"'))
    return study


@pytest.mark.parametrize("victim", ["run", "lab", "first"])
def test_after_kill_9_of_any_process_nothing_is_left(
    victim: str, long_study: Path, tmp_path: Path
) -> None:
    before = settings()
    family: set[int] = set()
    made: set[str] = set()
    with started(long_study, tmp_path / "e") as run, ExitStack() as stack:

        def struck() -> bool:
            """Whether the run has ended; one whose self-test had just ended has another lab."""
            if len(those := [run.pid, *labs(run.pid)]) >= 3:
                family.update(below(run.pid))
                made.update(stack.enter_context(held(family)))
                with suppress(ProcessLookupError):
                    os.kill(those[["run", "lab", "first"].index(victim)], signal.SIGKILL)
            return run.poll() is not None

        wait_for(struck, "the run does not end")
        wait_for(lambda: not family & parents().keys(), "a process is left")
        assert len(made) >= 2
        assert nobody_has(made)
    assert settings() == before
    if victim == "run":
        assert run.returncode == -signal.SIGKILL
        return
    # A lab that crashes is a run that failed, not a study that ends.
    assert run.returncode == 1
    (row,) = open_results(tmp_path / "e").tables["runs"].to_pylist()
    assert row["outcome"] == "failed"
    assert "(flashcrowd.emulation.lab) was killed by SIGKILL (out of memory?)" in row["reason"]


def test_the_network_is_measured_again_after_the_last_run(
    study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(emulation, "RETEST_S", 0.0)
    loaded = Study.load(study, set={"workloads.bulk.size": "2 MB"})
    results = flashcrowd.run(loaded, out=tmp_path / "e", progress=False, engine="emulation")
    (session,) = results.provenance["sessions"]
    after = session["self_test_after"]
    assert after["networks"] == 1
    assert after["probes"] == results.tables["probes"].num_rows
    assert after["within"] + len(after["failures"]) == after["probes"]
    said = [block.text for block in emulated.blocks(results) if isinstance(block, Text)]
    told = f"After the last run, {after['within']} of "
    assert [it for it in said if it.startswith(told)], said


def test_after_ctrl_c_nothing_is_left(long_study: Path, tmp_path: Path) -> None:
    before = settings()
    with started(long_study, tmp_path / "e") as run:
        nothing_is_left_after_ctrl_c(run)
    assert settings() == before


def test_nothing_is_left_after_a_run_that_ends_well(swarm: Path, tmp_path: Path) -> None:
    before, loaded = settings(), controllers()
    out = tmp_path / "e"
    with started(swarm, out) as run, held_until_it_ends(run, out) as made:
        assert run.returncode == 0
        # A self-test's, and the six hosts' of a run.
        assert len(made) >= 8
        assert of_run(out) == []
        assert nobody_has(made)
    assert settings() == before
    # The trial of what this machine offers has asked for all that plans may name: a run adds none.
    for name, now in controllers().items():
        assert loaded[name] <= now
        assert not (now - loaded[name]) & {*stack.CONTROLLERS.values()}


@pytest.fixture
def short_study(study: Path) -> Study:
    return Study.load(study, set={"workloads.bulk.size": "2 MB"})


def test_nothing_is_left_after_an_exception_in_the_engine(
    short_study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a network that stands, and is being used."""
    out = tmp_path / "e"
    monkeypatch.setenv(MARK, str(out))
    begun: list[int] = []
    attend = launch._attend

    def look(process: Any, asked: Order, handle: LabHandle) -> Any:
        if asked.probe:
            return attend(process, asked, handle)
        process.stdin.write(encoded(asked))
        process.stdin.flush()
        assert b"Progress" in process.stdout.readline()
        begun.extend(labs(os.getpid()))
        raise RuntimeError("a mistake in the engine")

    monkeypatch.setattr(launch, "_attend", look)
    before = settings()
    with pytest.raises(RuntimeError, match="a mistake in the engine"):
        flashcrowd.run(short_study, out=out, progress=False, engine="emulation")
    assert len(begun) >= 2
    wait_for(lambda: not of_run(out), "a process is left")
    assert settings() == before


def test_nothing_is_left_after_an_exception_in_the_lab(
    short_study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "e"
    monkeypatch.setenv(MARK, str(out))
    play_in(broken_lab, monkeypatch)
    before = settings()
    results = flashcrowd.run(short_study, out=out, progress=False, engine="emulation")
    (row,) = results.tables["runs"].to_pylist()
    assert row["outcome"] == "failed"
    assert broken_lab.MISTAKE in row["reason"]
    wait_for(lambda: not of_run(out), "a process is left")
    assert settings() == before


def test_a_lab_that_is_killed_as_soon_as_it_begins_plays_nothing(
    short_study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its first process would play the run without it, and nobody would watch."""
    out = tmp_path / "e"
    monkeypatch.setenv(MARK, str(out))
    play_in(lost_lab, monkeypatch)
    (point,) = short_study.points()
    with pytest.raises(EngineError, match="was killed by SIGKILL"):
        launch.in_lab(point.plan().parsed, 1, LabHandle())
    wait_for(lambda: not of_run(out), "a process is left")


def test_two_commands_at_once_do_not_meet(swarm: Path, tmp_path: Path) -> None:
    """Their hosts have the same addresses and their torrents the same content; one seed is slow.

    The slow one sends a tenth of the file in its time: who has all of it has met the other.
    """
    written = swarm.read_text().replace('"1 MB"', '"3 MB"')
    fast, slow = outs = tmp_path / "fast", tmp_path / "slow"
    fast.with_suffix(".toml").write_text(written.replace("1500 kB/s", "600 kB/s"))
    written = written.replace("1500 kB/s", "20 kB/s").replace('"60 s"', '"15 s"')
    slow.with_suffix(".toml").write_text(written)
    with ExitStack() as stack:
        runs = [stack.enter_context(started(out.with_suffix(".toml"), out)) for out in outs]
        wait_for(lambda: all(len(labs(run.pid)) >= 2 for run in runs), "a lab did not come")
        ones, others = (stack.enter_context(held(labs(run.pid))) for run in runs)
        assert ones
        assert others
        assert not ones & others
        assert [run.wait(PATIENCE_S) for run in runs] == [0, 0]
        assert nobody_has(ones | others)
    for out, completed in zip(outs, [4, 0], strict=True):
        tables = open_results(out).tables
        (run_,) = tables["runs"].to_pylist()
        ended(run_, "completed", "horizon")
        populations = tables["populations"].to_pylist()
        assert [it["peers"] for it in populations] == [1, 4]
        assert [it["completed"] for it in populations] == [0, completed]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may see all packets of this machine")
def test_no_packet_leaves_its_namespaces(swarm: Path, tmp_path: Path) -> None:
    with OfTheLab() as seen:
        # One of the same network that does appear here, on the loopback interface: it is counted.
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            sender.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, b"lo")
            sender.sendto(b"counted", ("198.18.0.1", 9))
        counted = seen.count()
        assert counted > 0
        out = tmp_path / "e"
        flashcrowd.run(swarm, out=out, progress=False, engine="emulation")
        (run,) = open_results(out).tables["runs"].to_pylist()
        assert run["packets_delivered"] > 1000
        assert seen.count() == 0


def test_two_runs_at_once_do_not_meet(study: Path, tmp_path: Path) -> None:
    loaded = Study.load(study, set={"workloads.bulk.size": "1 MB"}, repeats=2)
    results = flashcrowd.run(loaded, out=tmp_path / "e", jobs=2, progress=False, engine="emulation")
    for row in results.tables["transfers"].to_pylist():
        assert row["bytes"] == 1_000_000
    for row in results.tables["links"].to_pylist():
        if row["link"].startswith("bottleneck") and row["packets"] > 600:
            assert row["packets"] < 1100, "one transfer's packets, not two"


@pytest.mark.skipif(os.geteuid() != 0, reason="the other tests run as an ordinary user already")
@pytest.mark.skipif(not shutil.which("setpriv"), reason="setpriv is not there to drop rights")
def test_an_ordinary_user_runs_it_in_a_user_namespace(study: Path, tmp_path: Path) -> None:
    if os.stat("/dev/net/tun").st_mode & 0o006 != 0o006:
        pytest.skip("/dev/net/tun is not for everybody here")
    study.write_text(study.read_text().replace("4 MB", "1 MB"))
    user = 65534
    out = tmp_path / "user"
    out.mkdir()
    os.chown(out, user, user)
    # Of root's rights it has the one to read, as Python may lie where only root looks.
    reading = "-all,+dac_read_search"
    rights = [
        f"--inh-caps={reading}",
        "--ambient-caps=+dac_read_search",
        f"--bounding-set={reading}",
    ]
    become = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups", *rights]
    words = ["run", str(study), "--engine", "emulation", "--out", str(out / "e"), "--quiet"]
    done = subprocess.run(
        [*become, sys.executable, "-m", "flashcrowd", *words],
        capture_output=True,
        text=True,
        check=False,
        cwd="/",
        env={**os.environ, "HOME": str(out), "PYTHONDONTWRITEBYTECODE": "1"},
    )
    assert done.returncode == 0, done.stderr
    (row,) = open_results(out / "e").tables["transfers"].to_pylist()
    assert row["bytes"] == 1_000_000
