"""Processors are kept awake by one set of threads, and nothing of them stays."""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path

import pytest

from flashcrowd import _core
from flashcrowd.cores import cores
from flashcrowd.emulation import idle_poll
from flashcrowd.emulation.idle_poll import polling
from flashcrowd.emulation.launch import LAB, started
from flashcrowd.errors import EngineError


def _threads(wanted: int) -> int:
    """How many there are, once those that begin have their name."""
    found = -1
    for _ in range(500):
        names = ((it / "comm").read_text() for it in Path("/proc/self/task").iterdir())
        found = sum(name == "idle-poll\n" for name in names)
        if found == wanted:
            break
        time.sleep(0.01)
    return found


def test_one_set_of_threads_serves_all_runs_until_the_last_one_ends() -> None:
    wanted = cores() if _core.polls_idle() else 0
    with polling():
        with polling():
            assert _threads(wanted) == wanted
        assert _threads(wanted) == wanted
    assert _threads(0) == 0
    with polling():
        assert _threads(wanted) == wanted, "and again"


def test_a_machine_without_threads_left_is_no_riddle(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused() -> None:
        raise OSError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(idle_poll._core, "IdlePoll", refused)
    with pytest.raises(EngineError, match="no thread that keeps processors awake"), polling():
        pass
    monkeypatch.undo()
    with polling():
        pass
    assert _threads(0) == 0


def test_a_lab_is_of_the_session_that_polls_and_not_of_its_process_group() -> None:
    with tempfile.TemporaryFile() as errors, started(LAB, errors) as lab:
        assert os.getsid(lab.pid) == os.getsid(0)
        assert os.getpgid(lab.pid) == lab.pid
