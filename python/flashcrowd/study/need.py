"""The predicted need of a study, and whether it fits into this machine's memory."""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice

from flashcrowd import _core
from flashcrowd._core import Plan
from flashcrowd.base.amounts import duration, scaled
from flashcrowd.base.cores import cores
from flashcrowd.base.errors import Problem, StudyError
from flashcrowd.base.need import Need
from flashcrowd.engines import Engine, Timed
from flashcrowd.scenario.check import SHRINK

PROCESS_BYTES = 160_000_000
"""The peak memory of `flashcrowd run` besides the runs themselves, with tables of small studies.

By hand: the peak of resident memory of whole commands, less what their runs were expected to need.
"""
LONG_S = 1800.0
"""From this time on a line says so before it begins, also on a terminal."""


def long(seconds: float) -> str:
    """A quicker way than runs of this length; empty where they are short."""
    if seconds < LONG_S:
        return ""
    return f"this will take about {duration(seconds)}. Fewer --repeats take less; or {SHRINK}."


@dataclass(frozen=True)
class StudyNeed:
    """The need of all runs of a study.

    Attributes:
        points: what each run of a point needs; `None` where the engine cannot tell.
        repeats: runs of each point.
        jobs: runs at a time.
        cores: those of this machine that the runs keep busy; `None` where they wait for real time.
        here: whether the seconds are this machine's, not those of `benches/README.md`.
    """

    points: Sequence[Need | None]
    repeats: int
    jobs: int
    cores: int | None = None
    here: bool = False

    @property
    def known(self) -> list[Need]:
        """The needs of the points of which the engine can tell."""
        return [need for need in self.points if need is not None]

    def at_once(self, jobs: int) -> int:
        """Bytes of the most demanding runs that may stand beside each other."""
        sizes = (need.bytes for need in self.known for _ in range(min(self.repeats, jobs)))
        return sum(heapq.nlargest(jobs, sizes))

    @property
    def bytes(self) -> int:
        """Bytes of memory of all runs at a time, on top of what the process has."""
        return self.at_once(self.jobs)

    @property
    def process_bytes(self) -> int:
        """The same with Python, its libraries and the tables: what the process has at its peak."""
        return self.bytes + PROCESS_BYTES

    @property
    def core_seconds(self) -> float:
        """Seconds of one core for all runs."""
        return self.repeats * sum(need.seconds for need in self.known)

    @property
    def seconds(self) -> float:
        """Seconds until the last run is done, if the machine has nothing else to do."""
        longest = max((need.seconds for need in self.known), default=0.0)
        return max(self.core_seconds / min(self.jobs, self.cores or self.jobs), longest)

    def left(self, runs: int) -> float:
        """Seconds until this number of runs is done, as a share of those until all are."""
        return self.seconds * runs / max(runs, self.repeats * len(self.points))

    @property
    def packets(self) -> int:
        """Packets of all runs."""
        return self.repeats * sum(need.packets for need in self.known)

    @property
    def events(self) -> int:
        """Events of all runs."""
        return self.repeats * sum(need.events for need in self.known)

    def fitting_jobs(self, available: int) -> int:
        """How many runs at a time fit into `available` bytes; 0 if the largest alone does not."""
        fitting = (jobs for jobs in range(self.jobs, 0, -1) if self.at_once(jobs) <= available)
        return next(fitting, 0)


def study_need(engine: Engine, plans: Iterable[Plan], repeats: int, jobs: int | None) -> StudyNeed:
    """The need of a study, by the plans of its points.

    Args:
        engine: what is to run it.
        plans: a plan for each point.
        repeats: runs of each point.
        jobs: runs at a time; without, as many as the engine has room for.

    Raises:
        PlanRejected: the engine cannot read one of them.
    """
    needs = needs_of(engine, plans)
    if jobs is None:
        jobs = engine.at_once([it for it in needs if it is not None])
    jobs = max(1, min(jobs, len(needs) * repeats))
    return StudyNeed(needs, repeats, jobs, cores() if isinstance(engine, Timed) else None)


AT_A_TIME = 500
"""Plans per question to an engine."""

WAITING = 4
"""How many times `AT_A_TIME` plans may wait while the engine looks at earlier ones."""


def needs_of(engine: Engine, plans: Iterable[Plan]) -> list[Need | None]:
    """The need of a run of each plan. While the engine looks at some, others are made.

    Raises:
        PlanRejected: the engine cannot read one of them.
    """
    rest = iter(plans)
    first = list(islice(rest, AT_A_TIME))
    if len(first) < AT_A_TIME:
        return engine.needs(first)
    needs: list[Need | None] = []
    with ThreadPoolExecutor(max_workers=1) as beside:
        asked = deque([beside.submit(engine.needs, first)])
        while some := list(islice(rest, AT_A_TIME)):
            asked.append(beside.submit(engine.needs, some))
            if len(asked) > WAITING:
                needs += asked.popleft().result()
        for answer in asked:
            needs += answer.result()
    return needs


def available_memory() -> int | None:
    """Bytes of memory that runs may have on this machine; `None` where the system does not say."""
    return _core.available_memory()


def problem(need: StudyNeed, available: int | None) -> Problem | None:
    """The problem if a study does not fit into `available` bytes; None if it fits."""
    if available is None or need.bytes <= available:
        return None
    fitting = need.fitting_jobs(available)
    allowed = f"at most {size(available)}, which this machine has available"
    if fitting:
        hint = f"--jobs {fitting} fits; --force begins all the same"
        value = f"{need.jobs}, which need {size(need.bytes)} of memory"
        return Problem("jobs", value, allowed, hint)
    index = max(range(len(need.points)), key=lambda it: _bytes(need.points[it]))
    hint = "fewer hosts, connections or samples need less; --force begins all the same"
    value = f"a run needs {size(_bytes(need.points[index]))} of memory"
    return Problem(f"point {index}", value, allowed, hint)


def refuse(need: StudyNeed, source: str) -> None:
    """Refuses a study whose runs do not fit into this machine's memory.

    Raises:
        StudyError: it names what is too large, and what is allowed.
    """
    found = problem(need, available_memory())
    if found is not None:
        raise StudyError([found], source)


def _bytes(need: Need | None) -> int:
    return 0 if need is None else need.bytes


def size(count: float) -> str:
    """Bytes, as people write them."""
    return scaled(count, "B")
