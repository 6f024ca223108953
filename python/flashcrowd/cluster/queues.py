"""Workers that wait in the queue of a cluster: Slurm and OAR, through dask-jobqueue."""

from __future__ import annotations

import re
import shutil
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flashcrowd.base.cluster_errors import ClusterError
from flashcrowd.base.signals import kept
from flashcrowd.cluster.local import ANY_PORT, QUIET, environment
from flashcrowd.cluster.submissions import Submissions
from flashcrowd.study.option_file import table_of
from flashcrowd.study.progress import say

if TYPE_CHECKING:
    from dask_jobqueue.core import JobQueueCluster
    from distributed import Client

PREEMPTED = {"distributed.scheduler.allowed-failures": 20}
"""Jobs that are preempted take tasks with them, which are innocent of that."""

SUBMIT = {"slurm": "sbatch", "oar": "oarsub"}
"""The command that gives a job to a queue."""

OAR_MEMORY = "jobqueue.oar.memory-per-core-property-name"
"""Where dask-jobqueue's own settings say with which property OAR is asked for memory, if they do.
Otherwise it is not asked: `docs/machines.md` says so, not each job.
"""

LOOK = {
    kind: f"`{command}` shows its jobs; what they say is in `log_directory`, if [options] has one"
    for kind, command in {"slurm": "squeue --me", "oar": "oarstat -u"}.items()
}
"""Where to look if no worker comes: jobs that end as soon as they begin say why there."""


@dataclass(frozen=True)
class Options:
    """The options of the file.

    Attributes:
        jobs: how many jobs wait or run at a time.
        options: of `SLURMCluster` or `OARCluster` of dask-jobqueue, by their names there.
    """

    jobs: int
    options: Mapping[str, Any]

    @classmethod
    def read(cls, file: Path) -> Options:
        """Reads a TOML file.

        Raises:
            ClusterError: it cannot be read, or says something else.
        """
        given = table_of(file)
        jobs, options = given.pop("jobs", None), given.pop("options", {})
        if given:
            raise ClusterError(f"{file}: {next(iter(given))}: `jobs` and [options] may stand here")
        if type(jobs) is not int or jobs < 1:
            raise ClusterError(f"{file}: jobs: how many jobs there are to be, as in jobs = 8")
        if not isinstance(options, dict):
            raise ClusterError(f"{file}: options: a table is needed, [options]")
        for key in ("cores", "processes"):
            if type(count := options.get(key, 1)) is not int or count < 1:
                raise ClusterError(
                    f"{file}: options.{key}: {count}: a whole number from 1 on is needed, "
                    f"as in {key} = 8"
                )
        return cls(jobs, options)


@contextmanager
def queued_workers(kind: str, file: Path, tell: Callable[[str], None] = say) -> Iterator[Client]:
    """Jobs of a queue as workers, replaced where they end early; all end with the block.

    Args:
        kind: `slurm` or `oar`.
        file: options, see `Options`.
        tell: receives what delays jobs.

    Raises:
        ClusterError: the queue's commands are not here, or the options are wrong, or the queue
            refuses them.
    """
    from dask import config
    from distributed import Client

    options = Options.read(file)
    seen = Submissions(tell)
    with config.set(QUIET | PREEMPTED), cluster(kind, options.options, file, seen) as queued:
        command = SUBMIT[kind]
        if shutil.which(command) is None:
            raise ClusterError(
                f"{command} is not on this machine: give this command where jobs are submitted"
            )
        with Client(queued, set_as_default=False) as client:
            # Not `scale`: jobs that are cancelled would not be replaced.
            queued.adapt(minimum_jobs=options.jobs, maximum_jobs=options.jobs, interval="1s")
            try:
                if said := seen.refused():
                    raise ClusterError(
                        f"{file}: {command} refuses these jobs: {said}; change what stands under "
                        "[options]: queue, account, walltime, cores, memory, job_extra_directives"
                    )
                yield client
            finally:
                seen.end()


@contextmanager
def cluster(
    kind: str, options: Mapping[str, Any], source: Path, seen: Submissions | None = None
) -> Iterator[JobQueueCluster]:
    """A cluster of dask-jobqueue that has no jobs yet; what the queue says to them is `seen`.

    Defaults: one process a core, so that what kills one run kills no other; no dashboards; and
    Dask's settings for processes that are ours alone.

    Raises:
        ClusterError: an option is unknown, or one is missing.
    """
    from dask import config

    # One of its modules has Ctrl-C end the process with status 0, from when it is imported.
    with kept([signal.SIGINT]):
        from dask_jobqueue.oar import OARCluster
        from dask_jobqueue.slurm import SLURMCluster

    given = dict(options)
    if "cores" in given:
        given.setdefault("processes", given["cores"])
    if kind == "oar" and config.get(OAR_MEMORY, None) is None:
        given.setdefault("memory_per_core_property_name", "not_applicable")
    scheduler = {"dashboard": False, "dashboard_address": ANY_PORT}
    given["scheduler_options"] = scheduler | given.get("scheduler_options", {})
    given["worker_extra_args"] = ["--no-dashboard", *given.get("worker_extra_args", [])]
    given["job_script_prologue"] = [
        *(f"export {name}={value}" for name, value in sorted(environment().items())),
        *given.get("job_script_prologue", []),
    ]
    make = {"slurm": SLURMCluster, "oar": OARCluster}[kind]
    if seen is not None:
        given["job_cls"] = seen.kind(make.job_cls)
    try:
        queued = make(**given)
    except (TypeError, ValueError) as error:
        raise ClusterError(f"{source}: {_mistake(error, make.__name__)}") from error
    except (OSError, RuntimeError) as error:
        (line, *_) = str(error).splitlines()
        raise ClusterError(
            f"{source}: no scheduler can listen here: {line}; see `interface` and "
            "`scheduler_options`"
        ) from error
    with queued:
        yield queued


def _mistake(error: Exception, kind: str) -> str:
    """The error of options, as dask-jobqueue reports it, in a line."""
    (line, *_) = str(error).splitlines()
    if unknown := re.match(r"Got unexpected keyword argument '(\w+)'", line):
        return f"options.{unknown[1]}: {kind} of dask-jobqueue has no such option"
    if line.startswith("You must specify how much cores and memory"):
        return 'options: cores and memory of a job are needed, as in cores = 8 and memory = "32GB"'
    return f"options: {line}"
