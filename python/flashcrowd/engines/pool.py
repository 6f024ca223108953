"""Many runs on all cores: threads, since an engine runs without Python's lock."""

from __future__ import annotations

import contextlib
import os
import queue
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from flashcrowd.engines import Cancelled, Control, Engine, EngineError
from flashcrowd.store.manifest import Run

TICK_S = 0.1
"""How often the display is told, in seconds of wall-clock time."""

Keep = Callable[[Run, Mapping[str, pa.Table], Mapping[str, Any]], None]
"""Called with a run, its tables and its cost (columns of `timings`), in the worker's thread."""

Watch = Callable[[int, float], None]
"""Called with the number of finished runs, and the work done as a number of runs."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C was pressed; finished runs were kept, the others cancelled."""


@dataclass(frozen=True)
class Job:
    """One run to do."""

    run: Run
    plan: Callable[[], str]


def cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def execute(
    engine: Engine, jobs: Sequence[Job], keep: Keep, workers: int, watch: Watch | None = None
) -> None:
    """Do all jobs, in order, as many at a time as there are workers.

    The first failure ends everything; finished runs were kept.

    Raises:
        Interrupted: Ctrl-C was pressed.
        EngineError: an engine failed; the message names the run.
        Exception: whatever `keep` raised.
    """
    _Pool(engine, jobs, keep).execute(max(1, min(workers, len(jobs))), watch)


class _Pool:
    def __init__(self, engine: Engine, jobs: Sequence[Job], keep: Keep) -> None:
        self.engine = engine
        self.keep = keep
        self.lock = threading.Lock()
        self.waiting = list(reversed(jobs))
        self.running: dict[int, Control] = {}
        self.finished = 0
        self.stopping = False
        self.failure: Exception | None = None
        self.alive = 0
        self.ended: queue.SimpleQueue[int] = queue.SimpleQueue()

    def execute(self, workers: int, watch: Watch | None) -> None:
        self.alive = workers
        for worker in range(workers):
            threading.Thread(
                target=self._live, args=(worker,), name=f"run-{worker}", daemon=True
            ).start()
        try:
            while self.alive:
                self._wait()
                if watch is not None:
                    watch(*self._state())
        except KeyboardInterrupt:
            self._stop()
            while self.alive:
                self._wait()
            raise Interrupted from None
        except BaseException:
            self._stop()
            raise
        if self.failure is not None:
            raise self.failure

    def _wait(self) -> None:
        """Until a worker has ended, or for a tick.

        Not by `Thread.join`: interrupted, it takes running threads for ended ones in Python 3.11.
        """
        with contextlib.suppress(queue.Empty):
            self.ended.get(timeout=TICK_S)

    def _state(self) -> tuple[int, float]:
        with self.lock:
            part = sum(control.progress for control in self.running.values())
            return self.finished, self.finished + part

    def _stop(self) -> None:
        with self.lock:
            self.stopping = True
            for control in self.running.values():
                control.cancel()

    def _live(self, worker: int) -> None:
        try:
            self._work(worker)
        finally:
            with self.lock:
                self.alive -= 1
            self.ended.put(worker)

    def _work(self, worker: int) -> None:
        while True:
            with self.lock:
                if self.stopping or not self.waiting:
                    return
                job = self.waiting.pop()
                control = self.running[worker] = self.engine.control()
            try:
                self._one(worker, job, control)
            except Cancelled:
                return
            except Exception as error:
                with self.lock:
                    if self.failure is None and not self.stopping:
                        self.failure = error
                self._stop()
                return
            finally:
                with self.lock:
                    del self.running[worker]

    def _one(self, worker: int, job: Job, control: Control) -> None:
        begin = time.perf_counter()
        try:
            tables = self.engine.run(job.plan(), job.run.seed, control)
        except EngineError as error:
            place = f"point {job.run.point}, repeat {job.run.repeat}, seed {job.run.seed}"
            raise type(error)(f"{place}: {error}") from error
        wall_s = time.perf_counter() - begin
        cost = {"wall_s": wall_s, "worker": worker, "peak_bytes": _peak_bytes()}
        self.keep(job.run, tables, cost)
        with self.lock:
            self.finished += 1


def _peak_bytes() -> float | None:
    """Most memory that this process has had, if the system says it."""
    try:
        import resource
    except ImportError:
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return float(peak if sys.platform == "darwin" else peak * 1024)
