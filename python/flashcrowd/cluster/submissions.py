"""The answers of a queue to the jobs that it is given."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dask_jobqueue.core import Job

FIRST_S = 60.0
"""How long a queue has to say something to the first jobs, in seconds."""

AGAIN_S = 30.0
"""A job that a queue refused is offered again after such a time, in seconds."""

_LOOK_S = 0.2


class _GivenUp(Exception):
    """A job that is not offered again."""


class Submissions:
    """The jobs that were offered to a queue, and what it said.

    A queue that refuses the first jobs refuses what the options say. One that has taken a job
    refuses others for a time, as with a limit of jobs for each user: these are offered again.
    """

    def __init__(self, tell: Callable[[str], None]) -> None:
        """None so far.

        Args:
            tell: receives what the queue says to later jobs, once.
        """
        self._tell = tell
        self._heard = threading.Condition()
        self._accepted = 0
        self._refusal = ""
        self._told = ""
        self._ended = False

    def refused(self) -> str:
        """Why the queue does not take the first jobs; nothing if it takes one, or is silent."""
        with self._heard:
            self._heard.wait_for(lambda: self._accepted or self._refusal, timeout=FIRST_S)
            return "" if self._accepted else self._refusal

    def end(self) -> None:
        """Offer no job again."""
        self._ended = True

    def kind(self, job: type[Job]) -> type[Job]:
        """A kind of job whose submission is seen here."""
        from distributed.deploy.spec import ProcessInterface

        submissions = self

        class CountedJob(job):
            async def start(self) -> None:
                try:
                    await super().start()
                except _GivenUp:
                    await ProcessInterface.start(self)  # as one that can be closed

            async def _submit_job(self, script_filename: str) -> Any:
                while True:
                    try:
                        said = await super()._submit_job(script_filename)
                    except (OSError, RuntimeError) as error:
                        await submissions._refuse(error)
                    else:
                        submissions._accept()
                        return said

        return CountedJob

    def _accept(self) -> None:
        with self._heard:
            self._accepted += 1
            self._heard.notify_all()

    async def _refuse(self, error: Exception) -> None:
        """Take up a refusal, and wait until the job may be offered again.

        Raises:
            _GivenUp: it is not to be offered any more.
        """
        line = words(error)
        with self._heard:
            self._refusal = line
            self._heard.notify_all()
            later = self._accepted > 0 and line != self._told
            self._told = line if later else self._told
        if later:
            self._tell(f"the queue takes no further job for now: {line}")
        for _ in range(round(AGAIN_S / _LOOK_S)):
            if self._ended:
                raise _GivenUp from error
            await asyncio.sleep(_LOOK_S)


def words(error: Exception) -> str:
    """The error of a command that submits jobs, as one line."""
    text = str(error)
    _, _, said = text.partition("stderr:\n")
    lines = [line.strip() for line in (said or text).splitlines() if line.strip()]
    return "; ".join(line.removeprefix("sbatch: error: ") for line in lines[:3]) or text.strip()
