"""One run of a job, in any thread or process."""

from __future__ import annotations

import sys
import time

from flashcrowd.base.errors import why
from flashcrowd.engines import Engine, EngineError, RunHandle
from flashcrowd.study.pool import Done, Job


def carry_out(engine: Engine, job: Job, handle: RunHandle, worker: int) -> Done:
    """Carry out one run.

    Args:
        engine: what runs it.
        job: which run, and its plan.
        handle: from the engine.
        worker: number of the worker, for the run's cost.

    Raises:
        Cancelled: the handle was used.
        EngineError: the engine failed, or the system refused it memory, a thread or a file; the
            message names the run.
    """
    place = f"point {job.run.point}, repeat {job.run.repeat}, seed {job.run.seed}"
    begin = time.perf_counter()
    try:
        tables = engine.run(job.plan, job.run.seed, handle)
    except EngineError as error:
        raise type(error)(f"{place}: {error}") from error
    except (MemoryError, OSError) as error:
        raise EngineError(f"{place}: {why(error)}") from error
    wall_s = time.perf_counter() - begin
    cost = {"wall_s": wall_s, "worker": worker, "peak_bytes": _peak_bytes()}
    return Done(job.run, tables, cost)


def _peak_bytes() -> float | None:
    """Most memory that this process has had, if the system says it."""
    try:
        import resource
    except ImportError:
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return float(peak if sys.platform == "darwin" else peak * 1024)
