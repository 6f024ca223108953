"""How fast this machine is: a fraction of a second of the study's own runs, timed."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

from flashcrowd.base.need import Need
from flashcrowd.engines import Engine, PlanRejected, Timed
from flashcrowd.study.catalogue import STUDIES
from flashcrowd.study.need import StudyNeed
from flashcrowd.study.point import Point
from flashcrowd.study.seeds import seed_of
from flashcrowd.study.study import Study

BUDGET_S = 0.3
"""Seconds of processor time for the runs of a study that are timed."""

WORTH_S, SHARE, MOST_S = 10.0, 0.02, 3.0
"""A study is timed if it is to take at least this long: for this share of it, at most this long."""

REFERENCE = "client-ablation"
"""The study whose first point is timed where no run of the study itself is short enough."""


def calibrated(
    engine: Timed,
    points: Sequence[Point],
    need: StudyNeed,
    seed: int,
    budget_s: float = BUDGET_S,
) -> StudyNeed | None:
    """The need of a study, in seconds of this machine.

    Points whose runs are short are run, as far as the time goes, spread over the sweep. They need
    what they took. All others need what was expected of them times the mean ratio of those. Where
    every run is too long, a reference says how fast the machine is.

    Args:
        engine: what runs it.
        points: of the study.
        need: what was expected.
        seed: of the study.
        budget_s: processor time for it.

    Returns:
        The need, or nothing if the machine is too busy to tell.
    """
    taken: dict[int, float] = {}
    left, ratio = budget_s, 1.0
    for index in _spread(len(points)):
        expected = need.points[index]
        if expected is None or expected.seconds * ratio > left:
            continue
        seconds = engine.seconds(points[index].plan().parsed, seed_of(seed, 0), left)
        if seconds is None:
            break
        taken[index] = seconds
        left -= seconds
        ratio = _mean(taken[it] / _expected(need.points[it]) for it in taken)
    if not taken:
        found = _of_reference(engine)
        if found is None:
            return None
        ratio = found
    scaled = [
        None if one is None else replace(one, seconds=taken.get(index, one.seconds * ratio))
        for index, one in enumerate(need.points)
    ]
    return replace(need, points=scaled, here=True)


def of_here(engine: Engine, study: Study, need: StudyNeed) -> StudyNeed:
    """The need of a study, in seconds of this machine if it takes long and can be timed."""
    if not isinstance(engine, Timed) or need.seconds < WORTH_S:
        return need
    budget_s = min(max(BUDGET_S, SHARE * need.seconds), MOST_S)
    return calibrated(engine, study.points(), need, study.seed, budget_s) or need


def _of_reference(engine: Timed) -> float | None:
    point = Study.load(STUDIES / f"{REFERENCE}.toml").points()[0]
    plan = point.plan().parsed
    try:
        [expected] = engine.needs([plan])
    except PlanRejected:
        return None
    seconds = engine.seconds(plan, 1, 10 * _expected(expected))
    return None if seconds is None else seconds / _expected(expected)


def _expected(need: Need | None) -> float:
    return 1.0 if need is None else need.seconds


def _mean(ratios: Iterator[float]) -> float:
    logs = [math.log(max(it, 1e-6)) for it in ratios]
    return math.exp(sum(logs) / len(logs))


def _spread(count: int) -> list[int]:
    """The numbers below `count`: the first and the last, then those between, evenly."""
    order: dict[int, None] = {}
    parts = 1
    while len(order) < count:
        order.update(dict.fromkeys((count - 1) * part // parts for part in range(parts + 1)))
        parts *= 2
    return list(order)
