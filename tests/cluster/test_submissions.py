"""Jobs that a queue refuses."""

import asyncio
from collections.abc import Callable, Coroutine
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from tests.cluster.test_queues import SLURM

from flashcrowd.base.cluster_errors import ClusterError
from flashcrowd.cluster import submissions
from flashcrowd.cluster.executor import Executor, opened
from flashcrowd.cluster.submissions import Submissions, words

pytestmark = pytest.mark.skipif(
    find_spec("dask_jobqueue") is None, reason="the extra `cluster` is not installed"
)

SAID = """Command exited with non-zero exit code.
Exit code: 1
Command:
sbatch /tmp/job.sh
stdout:

stderr:
sbatch: error: invalid partition specified: nope
sbatch: error: Batch job submission failed: Invalid partition name specified

"""


def test_what_a_command_said_is_one_line() -> None:
    assert words(RuntimeError(SAID)) == (
        "invalid partition specified: nope; "
        "Batch job submission failed: Invalid partition name specified"
    )
    assert words(FileNotFoundError("no such file")) == "no such file"


def test_first_jobs_that_are_refused_end_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sbatch = tmp_path / "sbatch"
    sbatch.write_text('#!/bin/sh\necho "sbatch: error: no such thing" >&2\nexit 1\n')
    sbatch.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    file = tmp_path / "queue.toml"
    file.write_text(SLURM)
    with (
        pytest.raises(ClusterError) as caught,
        opened(Executor.parse(f"slurm:{file}"), "simulation"),
    ):
        pass
    assert str(caught.value).startswith(
        f"{file}: sbatch refuses these jobs: no such thing; change what stands under [options]: "
    )


class Queue:
    """Takes or refuses jobs, as it is told."""

    def __init__(self, answers: list[bool]) -> None:
        self.answers = answers

    def job(self, seen: Submissions) -> Callable[[], Coroutine[Any, Any, str]]:
        queue = self

        class Job:
            async def _submit_job(self, script_filename: str) -> str:
                if not queue.answers.pop(0):
                    raise RuntimeError("stderr:\nsbatch: error: too many jobs\n")
                return "Submitted batch job 7"

        return lambda: seen.kind(Job)()._submit_job("job.sh")  # type: ignore[arg-type, attr-defined]


def test_later_jobs_are_offered_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(submissions, "AGAIN_S", 0.2)
    told: list[str] = []
    seen = Submissions(told.append)
    submit = Queue([True, False, False, True]).job(seen)

    async def two() -> list[str]:
        return [await submit(), await submit()]

    assert asyncio.run(two()) == ["Submitted batch job 7"] * 2
    assert told == ["the queue takes no further job for now: too many jobs"]
    assert not seen.refused()


def test_no_job_is_offered_after_the_end() -> None:
    seen = Submissions(lambda _: None)
    submit = Queue([False]).job(seen)
    seen.end()
    with pytest.raises(submissions._GivenUp):
        asyncio.run(submit())
    assert seen.refused() == "too many jobs"
