"""What a run costs as one of many in a study, beside the same runs in a bare loop.

    .venv/bin/python benches/many_runs.py [--runs 2000] [--rounds 3] [--jobs N] [--small]

A study of one point and many repeats, some 40 ms of engine each, or half a millisecond. In turn, so
many rounds: the engine alone, called for each seed on one thread; then the whole study (plans,
threads, tables on disk, assembled) into a new folder. Printed are processor time, which other
programs on the machine disturb less, and time by the clock; of each the least of all rounds, and
the difference by run.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import flashcrowd
from flashcrowd.base.cores import cores
from flashcrowd.engines import registry
from flashcrowd.study import Study


def study(runs: int) -> Study:
    """A swarm of 20 on lines, with a series: some 40 ms."""
    population = {"group": "homes", "upload": "100 kB/s", "profile": "modern"}
    return Study.from_dict(
        {
            "format": 1,
            "title": "Many runs",
            "repeats": runs,
            "network": {
                "rtt": "40 ms",
                "groups": {"homes": {"hosts": 21, "access": "ADSL 1/8"}},
            },
            "workloads": {
                "swarm": {
                    "kind": "swarm",
                    "size": "2 MB",
                    "populations": {
                        "seed": {**population, "role": "seed", "hosts": 1},
                        "leechers": {**population, "departure": "all-done"},
                    },
                }
            },
            "measures": {"series": {"swarm-rate": "1 s"}},
        }
    )


def small_study(runs: int) -> Study:
    """A transfer of 300 kB."""
    return Study.from_dict(
        {
            "format": 1,
            "title": "Many small runs",
            "repeats": runs,
            "network": {
                "rtt": "40 ms",
                "loss": "0.1 %",
                "groups": {"homes": {"hosts": 2, "access": "ADSL 1/8"}},
            },
            "workloads": {
                "bulk": {"kind": "transfer", "from": "homes-1", "to": "homes-2", "size": "300 kB"}
            },
        }
    )


def timed(work: Callable[[], None]) -> tuple[float, float]:
    """Seconds of processor, of all threads, and by the clock."""
    processor, clock = time.process_time(), time.perf_counter()
    work()
    return time.process_time() - processor, time.perf_counter() - clock


def alone(of: Study) -> None:
    """The engine's part of every run, one after the other."""
    engine = registry.engine()
    plan = of.points()[0].plan().parsed
    for run in of.runs():
        engine.run(plan, run.seed, engine.handle())


def whole(of: Study, jobs: int) -> None:
    """The study, as `flashcrowd run` does it."""
    with tempfile.TemporaryDirectory() as folder:
        flashcrowd.run(of, Path(folder) / "results", jobs=jobs, progress=False)


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=cores())
    parser.add_argument("--small", action="store_true")
    given = parser.parse_args()
    of = (small_study if given.small else study)(given.runs)
    found: dict[str, list[tuple[float, float]]] = {"alone": [], "study": []}
    for _ in range(given.rounds):
        found["alone"].append(timed(lambda: alone(of)))
        found["study"].append(timed(lambda: whole(of, given.jobs)))
        for name, times in found.items():
            print(f"{name}: {times[-1][0]:.2f} s of processor, {times[-1][1]:.2f} s", flush=True)
    engine, clock = (min(it) for it in zip(*found["alone"], strict=True))
    processor, wall = (min(it) for it in zip(*found["study"], strict=True))
    by_run = 1e3 / given.runs
    print(f"the engine takes {engine * by_run:.2f} ms of processor a run, {clock * by_run:.2f} ms")
    print(f"the study adds {(processor - engine) * by_run:.2f} ms of processor a run")
    added = (wall * given.jobs - clock) * by_run
    print(f"by the clock × {given.jobs} jobs it adds {added:.2f} ms a run")


if __name__ == "__main__":
    main()
