"""What Dask costs beside the pool of threads, in processor seconds, in turn.

    python benches/cluster.py [ROUNDS] [REPEATS]

Two threads of this process against two worker processes on this machine, with the scheduler in
this process. Processor seconds of all processes are counted from the first run to the last; what
starting the workers costs is told beside them. Wall-clock times say little where others use the
machine.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from pathlib import Path

import psutil

from flashcrowd.cluster.local import local_workers
from flashcrowd.cluster.pool import Dask
from flashcrowd.engines.simulation import Simulator
from flashcrowd.study import Study
from flashcrowd.study.campaign import conduct
from flashcrowd.study.pool import Pool
from flashcrowd.study.runner import prepare
from flashcrowd.study.threads import Threads

STUDIES = Path(__file__).parents[1] / "studies"


def processor_s() -> float:
    """Processor seconds of this process and of those that it has started."""
    this = psutil.Process()
    times = [one.cpu_times() for one in (this, *this.children(recursive=True))]
    return sum(one.user + one.system for one in times)


def cost(study: Study, pool: Pool) -> tuple[float, float]:
    """Processor and wall-clock seconds of a study."""
    engine = Simulator()
    campaign = prepare(study, engine)
    with tempfile.TemporaryDirectory() as folder:
        begin, wall = processor_s(), time.perf_counter()
        conduct(campaign, engine, Path(folder) / "r", pool)
        return processor_s() - begin, time.perf_counter() - wall


def main(rounds: int, repeats: int) -> None:
    """Print the costs of each round, and the median of their ratios."""
    study = Study.load(STUDIES / "dumbbell.toml", repeats=repeats)
    before = processor_s()
    with local_workers(2) as client:
        client.wait_for_workers(2)
        print(f"starting two workers: {processor_s() - before:.2f} s of processor")
        cost(Study.load(STUDIES / "dumbbell.toml", repeats=2), Dask(client, "here"))
        print("processor seconds (wall-clock seconds)\nthreads, Dask, threads / Dask")
        ratios = []
        for _ in range(rounds):
            threads, dask = cost(study, Threads(2)), cost(study, Dask(client, "here"))
            ratios.append(threads[0] / dask[0])
            told = ", ".join(f"{both[0]:.2f} ({both[1]:.2f})" for both in (threads, dask))
            print(f"{told}, {ratios[-1]:.3f}")
    print(f"median {statistics.median(ratios):.3f}, {min(ratios):.3f} to {max(ratios):.3f}")


if __name__ == "__main__":
    given = [int(word) for word in sys.argv[1:3]]
    main(*given, *(5, 60)[len(given) :])
