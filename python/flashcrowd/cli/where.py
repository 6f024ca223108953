"""Where the runs of `flashcrowd run` are carried out, and which share of them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from flashcrowd.base.amounts import counted
from flashcrowd.cli import failed
from flashcrowd.cluster.executor import Executor, opened
from flashcrowd.engines import Engine, registry
from flashcrowd.store.results import Results
from flashcrowd.store.shard import Shard
from flashcrowd.study import Study
from flashcrowd.study.campaign import Campaign, conduct_shard
from flashcrowd.study.need import StudyNeed
from flashcrowd.study.pool import Pool
from flashcrowd.study.progress import Lines
from flashcrowd.study.runner import admit
from flashcrowd.study.threads import Threads


def admitted(
    campaign: Campaign, engine: Engine, jobs: int | None, force: bool, place: Executor | None
) -> StudyNeed | None:
    """The need of a study on this machine, see `admit`; None where other machines do the runs.

    The need of runs is then compared with the memory of each worker.
    """
    if place is None:
        return admit(campaign, engine, jobs, force)
    if place.here:
        return admit(campaign, engine, place.workers, force)
    return None


@contextmanager
def carried(
    place: Executor | None, engine: Engine, need: StudyNeed | None, force: bool
) -> Iterator[Pool]:
    """The pool of a place, until the block ends; threads of this process if there is none."""
    if place is None:
        yield Threads(need.jobs if need else None)
        return
    with opened(place, engine.name, force) as pool:
        yield pool


def share_of(folder: Path, shard: Shard | None) -> Path:
    """The folder of a shard beside that of the whole study."""
    if shard is None:
        return folder
    return folder.with_name(f"{folder.name}-{shard.number}-of-{shard.of}")


def share(
    campaign: Campaign,
    engine: Engine,
    folder: Path,
    pool: Pool,
    shard: Shard,
    quiet: bool,
    lines: Lines,
) -> int:
    """Do a shard of a study; gives the exit status."""
    if campaign.looks is not None:
        text = (
            "--shard: repeats are a number then, as with --repeats 20: who repeats until the mean"
        )
        print(f"{text} is known looks at all runs", file=sys.stderr)
        return 2
    ends = conduct_shard(campaign, engine, folder, pool, shard, not quiet, lines)
    if not quiet:
        all_runs = counted(len(campaign.manifest.runs), "run")
        print(f"Shard {shard}, {len(ends)} of {all_runs}: {folder}")
        print("With all shards: flashcrowd merge OUT FOLDER...")
    return failed.told([why for outcome, why in ends if outcome == "failed"], len(ends))


def on_nodes(
    study: Study,
    engine: str,
    folder: Path,
    place: Executor,
    jobs: int | None,
    force: bool,
    repeat_invalid: int,
    quiet: bool,
    lines: Lines,
) -> Results:
    """A study on the nodes of a testbed.

    Raises:
        ClusterError: it cannot be done there.
        UnknownEngine: there is no engine of this name.
        KeyboardInterrupt: Ctrl-C; the message says what is kept.
    """
    from flashcrowd.testbed.deploy import Deployment
    from flashcrowd.testbed.nodes import reserved
    from flashcrowd.testbed.options import Options

    registry.known(engine)
    words = ["--repeat-invalid", str(repeat_invalid)]
    words += [] if jobs is None else ["--jobs", str(jobs)]
    words += ["--force"] if force else []
    deployment = Deployment(study, engine, folder, words, not quiet, lines)
    options = Options.read(place.file)
    found = deployment.before()
    if found is not None:
        return found
    with reserved(options) as nodes:
        return deployment.execute(nodes, options)
