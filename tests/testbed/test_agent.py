"""What a node says of the shards that it did: how they ended is no secret."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import pytest
from tests.runner.fake import FakeEngine, campaign

from flashcrowd.store.shard import Shard
from flashcrowd.study.campaign import conduct_shard
from flashcrowd.study.threads import Threads
from flashcrowd.testbed import agent

KILLED = "import os; print('1 of 3 runs', flush=True); os.kill(os.getpid(), 9)"


@pytest.mark.parametrize(
    ("shard", "program", "failure"),
    [
        ("1/2", "raise SystemExit(1)", ""),
        ("2/2", "print('no room'); raise SystemExit(1)", "no room"),
        ("1/2", "print('a mistake'); raise SystemExit(2)", "a mistake"),
        ("1/2", KILLED, "flashcrowd run was killed by SIGKILL (out of memory?); 1 of 3 runs"),
    ],
    ids=["a run failed", "runs are missing", "a mistake", "killed"],
)
def test_a_run_that_failed_is_done_and_a_command_that_failed_is_told(
    shard: str, program: str, failure: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first of two shards is there; `program` is what `flashcrowd run` does."""
    monkeypatch.chdir(tmp_path)
    done = tmp_path / agent.PARTS / agent.folder_of("1/2")
    conduct_shard(campaign(), FakeEngine(), done, Threads(1), Shard(1, 2))
    order = agent.NodeTask("study.toml", "fake", [shard])
    Path(agent.ORDER).write_text(json.dumps(asdict(order)))
    Path(agent.LEASE).touch()

    def started(words: list[str]) -> subprocess.Popen[bytes]:
        with Path(agent.LOG).open("wb") as log:
            return subprocess.Popen([sys.executable, "-c", program], stdout=log, stderr=log)

    monkeypatch.setattr(agent, "_started", started)
    agent.work()
    state = agent.State(**json.loads(Path(agent.STATE).read_text()))
    assert state.ended
    assert state.failure == failure
