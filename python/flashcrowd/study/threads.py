"""The pool of threads of this process: an engine runs without Python's lock."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass

from flashcrowd.base.cores import cores
from flashcrowd.base.signals import heed
from flashcrowd.engines import Cancelled, Engine, RunHandle
from flashcrowd.study.execution import carry_out
from flashcrowd.study.pool import Done, Interrupted, Job, Keep, Watch

TICK_S = 0.1
"""How often the display is updated, in seconds of wall-clock time."""

BATCH_S = 1.0
"""A worker hands its runs over when it has worked on them for this long, in seconds. As much of
every worker's work is lost when the process is killed.
"""

BATCH_BYTES = 1 << 25
"""… or when their tables are so large."""


@dataclass(frozen=True)
class Threads:
    """Runs on threads.

    Attributes:
        workers: runs at a time; as many as cores if not given.
        batch_s: how long a worker collects short runs, in seconds.
    """

    workers: int | None = None
    batch_s: float = BATCH_S

    def execute(
        self, engine: Engine, jobs: Sequence[Job], keep: Keep, watch: Watch | None = None
    ) -> None:
        """Do all jobs, see `Pool.execute`."""
        workers = max(1, min(self.workers or cores(), len(jobs)))
        _Execution(engine, jobs, keep, workers, self.batch_s).execute(watch)


class _Execution:
    """One call of `execute`: the threads, what waits for them, and what they handed over."""

    def __init__(
        self, engine: Engine, jobs: Sequence[Job], keep: Keep, workers: int, batch_s: float
    ) -> None:
        self.engine = engine
        self.keep = keep
        self.workers = workers
        self.batch_s = batch_s
        self.lock = threading.Lock()
        self.waiting = list(reversed(jobs))
        self.running: dict[int, RunHandle] = {}
        self.finished = 0
        self.stopping = False
        self.failure: Exception | None = None
        self.alive = 0
        # Batches; None: a worker has ended. One that is two batches ahead of the disk waits for
        # room. Not a bounded `Queue`: its `get`, interrupted, can leave its lock held for ever.
        self.handed: queue.SimpleQueue[list[Done] | None] = queue.SimpleQueue()
        self.room: queue.SimpleQueue[None] = queue.SimpleQueue()
        for _ in range(2 * workers):
            self.room.put(None)
        self.keeping: list[Done] | None = None

    def execute(self, watch: Watch | None) -> None:
        self.alive = self.workers
        for worker in range(self.workers):
            threading.Thread(
                target=self._live, args=(worker,), name=f"run-{worker}", daemon=True
            ).start()
        try:
            while self.alive:
                heed()
                self._take()
                if watch is not None:
                    watch(*self._state())
        except KeyboardInterrupt:
            self._stop()
            self._keep()  # the batch that was being kept at Ctrl-C
            while self.alive:
                self._take()
            raise Interrupted from None
        except BaseException:
            self._stop()
            while self.alive:
                self._wait()
            raise
        if self.failure is not None:
            raise self.failure

    def _take(self) -> None:
        """Keep what a worker hands over, or wait for a tick."""
        self._wait()
        self._keep()

    def _wait(self) -> None:
        """Until a worker hands something over or has ended, or for a tick.

        Not by `Thread.join`: interrupted, it takes running threads for ended ones in Python 3.11.
        """
        try:
            self.keeping = self.handed.get(timeout=TICK_S)
        except queue.Empty:
            return
        if self.keeping is None:
            self.alive -= 1
        else:
            self.room.put(None)

    def _keep(self) -> None:
        if self.keeping:
            self.keep(self.keeping)
        self.keeping = None

    def _state(self) -> tuple[int, float]:
        with self.lock:
            part = sum(handle.progress for handle in self.running.values())
            return self.finished, self.finished + part

    def _stop(self) -> None:
        with self.lock:
            self.stopping = True
            for handle in self.running.values():
                handle.cancel()

    def _live(self, worker: int) -> None:
        try:
            while batch := self._batch(worker):
                self.room.get()
                self.handed.put(batch)
        finally:
            self.handed.put(None)

    def _batch(self, worker: int) -> list[Done]:
        """The next runs, one after the other until enough time has passed; none at the end."""
        batch: list[Done] = []
        size = 0
        begin = time.perf_counter()
        while not batch or (time.perf_counter() - begin < self.batch_s and size < BATCH_BYTES):
            with self.lock:
                if self.stopping or not self.waiting:
                    break
                job = self.waiting.pop()
                handle = self.running[worker] = self.engine.handle()
            try:
                done = carry_out(self.engine, job, handle, worker)
                with self.lock:
                    self.finished += 1
            except Cancelled:
                break
            except Exception as error:
                with self.lock:
                    if self.failure is None and not self.stopping:
                        self.failure = error
                self._stop()
                break
            finally:
                with self.lock:
                    del self.running[worker]
            batch.append(done)
            size += done.size
        return batch
