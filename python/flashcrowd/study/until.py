"""A study that is repeated until it is sure: look, and give more runs to points that need them.

Looks are at numbers of runs that are fixed beforehand, and a point's number of runs depends on
its own runs alone. So what is run does not depend on how many runs are done at a time, nor on
whether the study was stopped on its way: who goes on looks again at what was looked at before, and
finds the same.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from dataclasses import replace
from pathlib import Path

from flashcrowd.base.looks import Looks
from flashcrowd.store import batch
from flashcrowd.store.errors import ResultsError
from flashcrowd.store.manifest import Manifest, Run
from flashcrowd.store.results import Results
from flashcrowd.study.seeds import seed_of

Once = Callable[[Manifest], Results]
"""Does the runs of a manifest that the folder does not have."""


def conduct_until(manifest: Manifest, seed: int, looks: Looks, path: Path, once: Once) -> Results:
    """Do runs until every point has enough.

    Runs that the folder was meant to have already are kept, also where this rule would do with
    fewer: the intervals hold for any stopping rule.

    Args:
        manifest: what to run, with the runs of the first look.
        seed: the study's, from which those of runs are derived.
        looks: when to look, and when to stop.
        path: the results folder, new or not.
        once: what does the runs.
    """
    kept = kept_repeats(path, len(manifest.points))
    counts = [looks.at_least] * len(manifest.points)
    schedule = looks.schedule
    for number, following in zip(schedule, (*schedule[1:], None), strict=True):
        both = [max(pair) for pair in zip(counts, kept, strict=True)]
        results = once(with_repeats(manifest, both, seed))
        looked = {point for point, count in enumerate(counts) if count == number}
        wide = wide_points(results, looked, number, looks) if following is not None else ()
        if following is None or not wide:
            return results
        for point in wide:
            counts[point] = following
    raise AssertionError("the last look has nothing that follows it")


def kept_repeats(path: Path, points: int) -> list[int]:
    """How many repeats of each point a results folder was last meant to have; none if it is new.

    Where its manifest is damaged or gone, those that it has.
    """
    counts = [0] * points
    try:
        runs = Manifest.read(path).runs
    except ResultsError:  # opening the folder reports what is wrong with it
        runs = tuple(batch.runs_of(path))
    for run in runs:
        if run.point < points:
            counts[run.point] = max(counts[run.point], run.repeat + 1)
    return counts


def with_repeats(manifest: Manifest, counts: Sequence[int], seed: int) -> Manifest:
    """The manifest with these repeats of each point, in the order of studies."""
    runs = tuple(
        Run(point, repeat, seed_of(seed, repeat))
        for repeat in range(max(counts, default=0))
        for point, count in enumerate(counts)
        if repeat < count
    )
    return replace(manifest, runs=runs)


def wide_points(results: Results, looked: Container[int], repeats: int, looks: Looks) -> list[int]:
    """The points whose headline is not known well enough.

    Args:
        results: all runs.
        looked: the points to look at.
        repeats: how many repeats of each count.
        looks: the rule.
    """
    from flashcrowd.report import sequential, stopping
    from flashcrowd.report.headline import headline
    from flashcrowd.report.points import read

    points = read(results.tables["runs"])
    measures = stopping.deciding(results.study, headline(results, points))
    wide = []
    for point in points.points:
        if point.index not in looked:
            continue
        for measure in measures:
            runs = (run for run in measure.runs_of(point) if run.repeat < repeats)
            values = [measure.of_run[run.run] for run in runs]
            if not values or not sequential.narrow(sequential.estimate(values, looks), looks):
                wide.append(point.index)
                break
    return wide
