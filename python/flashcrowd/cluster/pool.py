"""The pool of runs on the workers of a Dask scheduler."""

from __future__ import annotations

import queue
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, cast

from flashcrowd.base.cluster_errors import ClusterError, Lost
from flashcrowd.base.signals import heed
from flashcrowd.cluster import task as tasks
from flashcrowd.cluster.crew import SCHEDULER_S, Crew, apart, ask
from flashcrowd.cluster.groups import TASK_S, Groups
from flashcrowd.cluster.identity import own
from flashcrowd.cluster.memory import at_once, nothing
from flashcrowd.cluster.task import Outcome, Task
from flashcrowd.engines import Engine, EngineError
from flashcrowd.store.provenance import Machine
from flashcrowd.study.need import needs_of, size
from flashcrowd.study.pool import Done, Interrupted, Job, Keep, Watch
from flashcrowd.study.progress import say

if TYPE_CHECKING:
    from distributed import Client, Future

TICK_S = 0.1
"""How often the display is updated, in seconds of wall-clock time."""

LOOK_S = 1.0
"""How often the workers are counted."""

KEEP_S = 1.0
"""Runs that came within such a time are kept as one file."""

KEEP_BYTES = 1 << 25
"""… or as soon as their tables are so large."""

AHEAD = 2
"""Tasks for each thread of a worker: one under way, one that waits there."""

FETCH_S = 120.0
"""How long what a worker made may take to come, in seconds: Dask tries again for ever."""

WHO_S = 5.0
"""How long it may take to learn which worker that is, in seconds."""

DEATHS = 3
"""How often a run alone may take all its workers with it. Dask counts the deaths of each time."""


class Dask:
    """Runs on the workers of a scheduler.

    Attributes:
        where: what a person calls the scheduler.
    """

    def __init__(
        self,
        client: Client,
        where: str,
        *,
        force: bool = False,
        task_s: float = TASK_S,
        tell: Callable[[str], None] = say,
        look: str = "",
    ) -> None:
        """A pool.

        Args:
            client: of the scheduler; the caller closes it.
            where: what a person calls the scheduler.
            force: compare no need of memory with the limits of workers.
            task_s: how long a task is meant to last, in seconds of one core.
            tell: receives what delays the runs.
            look: what to look at where no worker comes.
        """
        self.where = where
        self._hint = f"; {look}" if look else ""
        self._client = client
        self._force = force
        self._task_s = task_s
        self._tell = tell
        self._machines: dict[str, Machine] = {}

    @property
    def machines(self) -> Sequence[Machine]:
        """The machines of the workers."""
        return [self._machines[host] for host in sorted(self._machines)]

    def execute(
        self, engine: Engine, jobs: Sequence[Job], keep: Keep, watch: Watch | None = None
    ) -> None:
        """Do all jobs, see `Pool.execute`.

        Raises:
            ClusterError: a worker cannot take part, or the scheduler was lost.
        """
        plans = list(dict.fromkeys(job.plan for job in jobs))
        needs = dict(zip(plans, needs_of(engine, plans), strict=True))
        largest = max((need.bytes for need in needs.values() if need is not None), default=0)
        sizes = (need.bytes for job in jobs if (need := needs[job.plan]) is not None)
        crew = Crew(self._client, engine, nothing if self._force else at_once(sizes))

        def predict(job: Job) -> float | None:
            need = needs[job.plan]
            return None if need is None else need.seconds

        groups = Groups(jobs, predict, self._task_s)
        try:
            _Execution(self, self._client, crew, engine, groups, keep, largest).execute(watch)
        finally:
            self._machines |= crew.machines


class _Execution:
    """One call of `execute`: the tasks under way, and what came back and is not yet kept."""

    def __init__(
        self,
        pool: Dask,
        client: Client,
        crew: Crew,
        engine: Engine,
        groups: Groups,
        keep: Keep,
        largest: int,
    ) -> None:
        self.pool = pool
        self.client = client
        self.crew = crew
        self.engine = engine
        self.groups = groups
        self.keep = keep
        self.largest = largest
        self.campaign = uuid.uuid4().hex
        self.identity = own(engine)
        self.compressed = cache(tasks.compressed)
        self.under_way: dict[int, tuple[Future[Outcome], list[Job]]] = {}
        self.ended: queue.SimpleQueue[int] = queue.SimpleQueue()
        self.submitted = 0
        self.deaths: dict[Job, int] = {}
        self.waiting: list[Done] = []
        self.waiting_bytes = 0
        self.kept_at = time.monotonic()
        self.looked_at = -LOOK_S
        self.finished = 0
        self.alone = False

    def execute(self, watch: Watch | None) -> None:
        try:
            while self.groups or self.under_way:
                heed()
                with self._reached():
                    self._look()
                    self._feed()
                self._take(self._wait())
                if self._full():
                    self._keep()
                if watch is not None:
                    watch(self.finished, float(self.finished), self.crew.workers)
            self._keep()
        except KeyboardInterrupt:
            self._stop()
            self._keep()
            raise Interrupted from None
        except Lost:
            self._keep()
            raise
        except ClusterError:
            self._stop()
            self._keep()
            raise
        except BaseException:
            self._stop()
            raise

    def _look(self) -> None:
        """Count the workers from time to time."""
        now = time.monotonic()
        if now - self.looked_at < LOOK_S:
            return
        if self.client.status != "running":
            raise self._lost()
        self.looked_at = now
        self.crew.look()
        if not self.crew.workers and not self.alone:
            self.pool._tell(f"{self.pool.where} has no worker: waiting for one{self.pool._hint}")
        self.alone = not self.crew.workers

    def _feed(self) -> None:
        """Give the workers tasks ahead."""
        while self.groups and len(self.under_way) < AHEAD * self.crew.slots:
            jobs = self.groups.take(self.crew.slots)
            number = self.submitted
            self.submitted += 1
            places = {plan: place for place, plan in enumerate({job.plan: 0 for job in jobs})}
            task = Task(
                number,
                self.campaign,
                self.engine.name,
                self.identity,
                tuple(self.compressed(plan) for plan in places),
                tuple((job.run, places[job.plan]) for job in jobs),
            )
            key = f"flashcrowd-{self.campaign}-{number}"
            future = self.client.submit(tasks.perform, task, key=key, pure=False, retries=0)
            self.under_way[number] = (future, jobs)
            future.add_done_callback(lambda _, number=number: self.ended.put(number))

    def _wait(self) -> list[int]:
        """The numbers of tasks that have ended; waits for a tick if there are none."""
        try:
            ended = [self.ended.get(timeout=TICK_S)]
        except queue.Empty:
            return []
        while not self.ended.empty():
            ended.append(self.ended.get_nowait())
        return ended

    def _take(self, ended: Sequence[int]) -> None:
        """Take up what became of tasks."""
        failures: list[BaseException] = []
        whole = [number for number in ended if self.under_way[number][0].status == "finished"]
        futures = [self.under_way[number][0] for number in whole]
        for number, outcome in zip(whole, self._outcomes(futures), strict=True):
            future, jobs = self.under_way.pop(number)
            try:
                runs, failure = self._checked(outcome, jobs)
            except tasks.Unreadable as error:
                failures.append(ClusterError(f"{self._who(future)} gave back no result: {error}"))
                continue
            for done in runs:
                self.groups.learn(done.run.point, done.cost["wall_s"])
                self.waiting.append(done)
                self.waiting_bytes += done.size
                self.finished += 1
            if failure is not None:
                failures.append(failure)
        for number in set(ended) - set(whole):
            future, jobs = self.under_way.pop(number)
            try:
                self._gone(future, jobs)
            except ClusterError as error:
                failures.append(error)
        if failures:
            self._keep()
            raise failures[0]

    def _checked(
        self, outcome: Outcome, jobs: Sequence[Job]
    ) -> tuple[list[Done], EngineError | None]:
        """The runs of an outcome, and why the next one failed; held against what was asked for.

        Raises:
            Unreadable: it is no outcome of these runs.
        """
        if not isinstance(outcome, Outcome):
            raise tasks.Unreadable(f"it is of the type {type(outcome).__name__}")
        asked = [job.run for job in jobs]
        given = [one.run for one in outcome.finished]
        if given != asked[: len(given)]:
            raise tasks.Unreadable("its runs are others than were asked for")
        if outcome.failure is None and len(given) < len(asked):
            raise tasks.Unreadable(f"it has {len(given)} of {len(asked)} runs")
        worker = self.crew.number(outcome.worker)
        return [one.done(worker) for one in outcome.finished], outcome.failure

    def _who(self, future: Future[Outcome]) -> str:
        """The name of the worker that has the outcome of a task."""
        with self._reached():
            found = apart(lambda: self.client.who_has([future]), WHO_S)
            for addresses in cast("Mapping[str, Sequence[str]]", found).values():
                if addresses:
                    return f"worker {addresses[0]} of {self.pool.where}"
        return f"a worker of {self.pool.where}"

    def _outcomes(self, futures: Sequence[Future[Outcome]]) -> list[Outcome]:
        """The outcomes of finished tasks, brought here."""
        if not futures:
            return []
        with self._reached():
            try:
                return apart(
                    lambda: cast("list[Outcome]", self.client.gather(list(futures))), FETCH_S
                )
            except TimeoutError:
                raise self._unfetched(futures, f"not within {FETCH_S:g} s") from None
            except (OSError, CancelledError):
                raise
            except Exception as error:
                if self.client.status != "running":
                    raise
                said = str(error).partition("\n")[0]
                raise self._unfetched(futures, f"{type(error).__name__}: {said}") from error

    def _unfetched(self, futures: Sequence[Future[Outcome]], why: str) -> ClusterError:
        return ClusterError(
            f"{self._who(futures[0])}: what it made cannot be fetched ({why}): see that the "
            "scheduler reaches it, and look at its log"
        )

    @contextmanager
    def _reached(self) -> Iterator[None]:
        """Turn what Dask says when its scheduler has gone into one line."""
        try:
            yield
        except (OSError, CancelledError) as error:
            raise self._lost() from error
        except ClusterError:
            raise
        except Exception as error:
            if self.client.status == "running":
                raise
            raise self._lost() from error

    def _gone(self, future: Future[Outcome], jobs: Sequence[Job]) -> None:
        """A task has no outcome: do its runs again, each alone, unless that makes no sense.

        Raises:
            ClusterError: it makes none.
        """
        from distributed.scheduler import KilledWorker

        if future.status != "error":
            raise self._lost()
        with self._reached():
            error = apart(future.exception, SCHEDULER_S)
        if not isinstance(error, KilledWorker):
            who = f"a worker of {self.pool.where}"
            if isinstance(error, tasks.OtherCode):
                raise ClusterError(
                    f"{who} has other code ({error}): install the same build on all machines"
                )
            said = f"{who} cannot carry out runs ({type(error).__name__}: {error})"
            if isinstance(error, ImportError | AttributeError):
                version = self.identity.flashcrowd
                raise ClusterError(f"{said}: install flashcrowd {version} in its environment")
            run = jobs[0].run
            first = f"point {run.point}, repeat {run.repeat}, seed {run.seed}"
            raise ClusterError(f"{said} in a task whose first run is {first}: look at its log")
        if len(jobs) == 1:
            job = jobs[0]
            self.deaths[job] = self.deaths.get(job, 0) + 1
            if self.deaths[job] == DEATHS:
                raise ClusterError(
                    f"point {job.run.point}, repeat {job.run.repeat}, seed {job.run.seed}: "
                    "each worker that took this run was killed; the largest run of this study is "
                    f"expected to need {size(self.largest)} of memory: look at the workers' logs"
                )
        self.groups.give_back(jobs)

    def _full(self) -> bool:
        late = time.monotonic() - self.kept_at >= KEEP_S
        return self.waiting_bytes >= KEEP_BYTES or (late and bool(self.waiting))

    def _keep(self) -> None:
        """Hand over what waits; what was being handed over when a key was pressed, once more."""
        if self.waiting:
            self.keep(self.waiting)
        self.waiting, self.waiting_bytes = [], 0
        self.kept_at = time.monotonic()

    def _stop(self) -> None:
        """Leave nothing under way, as far as scheduler and workers can be reached."""
        futures = [future for future, _ in self.under_way.values()]
        self.under_way = {}
        if self.client.status != "running" or not futures:
            return
        try:
            apart(lambda: self.client.cancel(futures), SCHEDULER_S)
            ask(self.client, tasks.stop, self.campaign)
        except TimeoutError:
            self.pool._tell(f"{self.pool.where} does not answer: its workers finish what they have")
        except ClusterError as error:
            self.pool._tell(str(error))

    def _lost(self) -> Lost:
        return Lost(f"lost {self.pool.where}: see that it runs; the same command goes on")
