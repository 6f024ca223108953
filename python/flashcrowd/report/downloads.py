"""Downloads: by which peers, how long they took, and how many had the file at any time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from flashcrowd.report import source
from flashcrowd.report.points import Point
from flashcrowd.report.source import Source, by_run


@dataclass(frozen=True)
class Leechers:
    """The leechers of one swarm over all runs, as columns.

    Attributes:
        run: run of each.
        host: name of the host of each.
        population: name of the population of each.
        arrived_s: when it came.
        left_s: when it left, NaN if it stayed to the end.
        completed_s: when it had the whole file, NaN if never.
        duration_s: from its arrival to then, NaN if never.
    """

    run: np.ndarray
    host: np.ndarray
    population: np.ndarray
    arrived_s: np.ndarray
    left_s: np.ndarray
    completed_s: np.ndarray
    duration_s: np.ndarray


def swarms(results: Source) -> list[str]:
    """Names of the swarms that have downloads, in order of appearance."""
    rows = source.table(results, "downloads")
    return [] if rows is None else source.distinct(rows, "swarm")


def leechers(results: Source, swarm: str) -> Leechers:
    """Every peer of `swarm` that came without the file."""
    rows = source.table(results, "downloads")
    if rows is None:
        empty, nobody = np.empty(0), np.empty(0, dtype=object)
        return Leechers(np.empty(0, dtype=np.int64), nobody, nobody, *[empty] * 4)
    rows = source.where(rows, "swarm", swarm)
    completed, duration = source.numbers(rows, "completed_s"), source.numbers(rows, "duration_s")
    # A seed has the file on arrival: complete, and without a duration.
    leeching = np.isnan(completed) | ~np.isnan(duration)
    return Leechers(
        source.integers(rows, "run")[leeching],
        source.strings(rows, "host")[leeching],
        source.strings(rows, "population")[leeching],
        source.numbers(rows, "arrived_s")[leeching],
        source.numbers(rows, "left_s")[leeching],
        completed[leeching],
        duration[leeching],
    )


def times_of_runs(results: Source, swarm: str) -> tuple[dict[int, float], dict[int, float]]:
    """Mean download time and last completion of each run, both in seconds.

    Leechers that had not finished when the run ended are left out; whether that is fair is for
    the outcome of the run to say, which is why only runs that ended as planned count further up.
    """
    who = leechers(results, swarm)
    done = ~np.isnan(who.duration_s)
    mean: dict[int, float] = {}
    last: dict[int, float] = {}
    for run, members in by_run(who.run, done):
        mean[run] = float(who.duration_s[members].mean())
        last[run] = float(who.completed_s[members].max())
    return mean, last


@dataclass(frozen=True)
class Curve:
    """Share of the leechers that have completed, over time, at one point.

    Attributes:
        t_s: instants in seconds.
        mean: mean over runs, 0 to 1.
        low: smallest run at each instant.
        high: largest run.
        n: number of runs.
    """

    t_s: np.ndarray
    mean: np.ndarray
    low: np.ndarray
    high: np.ndarray
    n: int


def completion_curve(who: Leechers, point: Point, t_s: np.ndarray) -> Curve | None:
    """Mean and range over the runs of `point` of the share that has completed by each time."""
    wanted = {run.run for run in point.runs}
    shares = []
    for run, members in by_run(who.run):
        if run in wanted:
            completed = np.sort(who.completed_s[members])
            shares.append(np.searchsorted(completed, t_s, side="right") / len(members))
    if not shares:
        return None
    stack = np.vstack(shares)
    return Curve(t_s, stack.mean(axis=0), stack.min(axis=0), stack.max(axis=0), len(shares))


def completions(who: Leechers, point: Point) -> np.ndarray:
    """Instants in seconds at which leechers of all runs of `point` were done, sorted."""
    return _of_point(who, point, who.completed_s)


def pooled_durations(who: Leechers, point: Point) -> np.ndarray:
    """Download times in seconds of all leechers of all runs of `point`, sorted."""
    return _of_point(who, point, who.duration_s)


def _of_point(who: Leechers, point: Point, values: np.ndarray) -> np.ndarray:
    wanted = np.asarray([run.run for run in point.runs])
    return np.sort(values[np.isin(who.run, wanted) & ~np.isnan(values)])
