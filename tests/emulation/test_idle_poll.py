"""Processors are kept awake by one process, and nothing of it stays."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from flashcrowd import _core
from flashcrowd.base.cores import cores
from flashcrowd.base.errors import EngineError
from flashcrowd.emulation import idle_poll
from flashcrowd.emulation.idle_poll import polling

pytestmark = pytest.mark.skipif(
    not _core.polls_idle(), reason="this machine limits the time of processors: nothing polls"
)


def _process() -> subprocess.Popen[bytes]:
    found = idle_poll._POLLING._process
    assert found is not None
    return found


def _threads(pid: int) -> int:
    """How many threads of a process poll, once all have begun."""
    found = -1
    for _ in range(1000):
        names = [(it / "comm").read_text() for it in Path(f"/proc/{pid}/task").iterdir()]
        found = names.count("idle-poll\n")
        if found == cores():
            break
        time.sleep(0.01)
    return found


def test_one_process_serves_all_runs_until_the_last_one_ends() -> None:
    with polling():
        first = _process()
        assert _threads(first.pid) == cores()
        with polling():
            assert _process() is first
        assert first.poll() is None
    assert first.returncode == -signal.SIGKILL
    with polling():
        assert _process() is not first, "and again"


def test_one_that_somebody_killed_is_followed_by_another() -> None:
    with polling():
        first = _process()
        first.kill()
        first.wait()
        with polling():
            assert _threads(_process().pid) == cores()
        assert _process().poll() is None


def test_it_is_alone_in_the_lightest_of_sessions() -> None:
    with polling():
        pid = _process().pid
        assert _threads(pid) == cores()
        assert os.getsid(pid) == pid
        group = Path(f"/proc/{pid}/autogroup")
        if group.exists() and group.read_text():
            assert group.read_text().endswith(" nice 19\n")


def test_it_ends_when_who_started_it_is_killed(tmp_path: Path) -> None:
    script = tmp_path / "run.py"
    script.write_text(
        "from flashcrowd.emulation import idle_poll\n"
        "with idle_poll.polling():\n"
        "    print(idle_poll._POLLING._process.pid, flush=True)\n"
        "    input()\n"
    )
    with subprocess.Popen(
        [sys.executable, str(script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as run:
        assert run.stdout is not None
        pid = int(run.stdout.readline())
        assert _threads(pid) == cores()
        run.kill()
    for _ in range(1000):
        if not Path(f"/proc/{pid}/task/{pid}").exists() or _is_zombie(pid):
            return
        time.sleep(0.01)
    pytest.fail(f"process {pid} still polls")


def _is_zombie(pid: int) -> bool:
    """Whether it has ended, and its new parent has not looked."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(") ", 1)[1].startswith("Z")
    except OSError:
        return True


def test_a_machine_without_processes_left_is_no_riddle(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(idle_poll.sys, "executable", "/nowhere/python")
    with pytest.raises(EngineError, match="no process that keeps processors awake"), polling():
        pass
    monkeypatch.undo()
    with polling():
        assert _process().poll() is None
