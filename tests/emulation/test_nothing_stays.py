"""However a run ends, no namespace, interface or process of it is left; two runs do not meet."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.emulation.left_behind import (
    PATIENCE_S,
    below,
    held,
    nobody_has,
    processes,
    started,
    wait_for,
)

import flashcrowd
from flashcrowd.engines import emulation
from flashcrowd.report import emulated
from flashcrowd.report.blocks import Text
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
    run = started(long_study, tmp_path / "e")
    wait_for(lambda: len(below(run.pid)) >= 2, "the lab has no first process")
    lab, first = below(run.pid)[:2]
    family = [run.pid, lab, first]
    with held(family) as made:
        assert len(made) >= 2
        os.kill({"run": run.pid, "lab": lab, "first": first}[victim], signal.SIGKILL)
        run.wait(PATIENCE_S)
        wait_for(lambda: not {lab, first} & processes().keys(), "a process is left")
        assert nobody_has(made)
    if victim == "run":
        assert run.returncode == -signal.SIGKILL
        return
    # A lab that crashes is a run that failed, not a study that ends.
    assert run.returncode == 0
    (row,) = open_results(tmp_path / "e").tables["runs"].to_pylist()
    assert row["outcome"] == "failed"
    assert "ended without a word" in row["reason"]


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
    run = started(long_study, tmp_path / "e")
    family = below(run.pid)
    with held(family) as made:
        run.send_signal(signal.SIGINT)
        assert run.wait(PATIENCE_S) == 130
        wait_for(lambda: not {*family} & processes().keys(), "a process is left")
        assert nobody_has(made)


def test_nothing_of_this_machine_changes(study: Path, tmp_path: Path) -> None:
    def state() -> list[str]:
        settings = sorted(Path("/proc/sys/net/ipv4").glob("tcp_*"))
        readable = [path for path in settings if os.access(path, os.R_OK) and path.is_file()]
        # The last two grow with what other tests ask the kernel for.
        moves = {
            "tcp_fastopen_key", "tcp_mem",
            "tcp_available_congestion_control", "tcp_allowed_congestion_control",
        }  # fmt: skip
        kept = [f"{it.name}={it.read_text()}" for it in readable if it.name not in moves]
        # The comparison with the kernel's TCP may go on beside this, with named namespaces.
        mounts = Path("/proc/mounts").read_text().splitlines()
        mounts = [line for line in mounts if " /run/netns" not in line]
        return [*kept, *mounts, *sorted(os.listdir("/sys/class/net"))]

    before = state()
    loaded = Study.load(study, set={"workloads.bulk.size": "100 kB"})
    flashcrowd.run(loaded, out=tmp_path / "e", progress=False, engine="emulation")
    assert state() == before


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
