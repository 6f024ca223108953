"""Where the runs of `flashcrowd run` are carried out."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from flashcrowd.cluster.place import Place, opened
from flashcrowd.engines import Engine
from flashcrowd.study.campaign import Campaign
from flashcrowd.study.need import StudyNeed
from flashcrowd.study.pool import Pool
from flashcrowd.study.runner import admit
from flashcrowd.study.threads import Threads


def admitted(
    campaign: Campaign, engine: Engine, jobs: int | None, force: bool, place: Place | None
) -> StudyNeed | None:
    """What a study needs of this machine, see `admit`; None where other machines do the runs.

    What runs need is then compared with the memory of each worker.
    """
    if place is None:
        return admit(campaign, engine, jobs, force)
    if place.here:
        return admit(campaign, engine, place.workers, force)
    return None


@contextmanager
def carried(place: Place | None, engine: Engine, jobs: int | None, force: bool) -> Iterator[Pool]:
    """The pool of a place, until the block ends; threads of this process if there is none."""
    if place is None:
        yield Threads(jobs)
        return
    with opened(place, engine.name, force) as pool:
        yield pool
