"""When peers come and go: the draws of the simulation, from the same streams."""

from __future__ import annotations

import itertools
from collections.abc import Generator, Mapping, Sequence
from typing import Any

from flashcrowd.clients.random_stream import RandomStream, quantile

LATEST_S = 3e9
"""Later than this nothing happens: a century."""


def arrivals_ns(population: Mapping[str, Any], seed: int, swarm: int, number: int) -> list[int]:
    """When the planned peers of a population come, host by host.

    Args:
        population: from the plan.
        seed: seed of the run.
        swarm: number of the swarm among the plan's swarms.
        number: number of the population in its swarm.
    """
    stream = RandomStream(seed, "arrivals", swarm << 32 | number)
    given, count = population["arrivals"], len(population["hosts"])
    kind = given["kind"]
    if kind == "flash-crowd":
        start = given["start_ns"]
        return [start + stream.between(0, given["spread_ns"]) for _ in range(count)]
    if kind == "poisson":
        gaps = (stream.exponential(given["gap_ns"]) for _ in range(count))
        return [given["start_ns"] + at for at in itertools.accumulate(gaps)]
    if kind == "rates":
        steps = [(step["at_ns"] / 1e9, step["per_s"]) for step in given["steps"]]
        period = given["period_ns"]
        clock = _expected(steps, None if period is None else period / 1e9)
        next(clock)
        return [round(clock.send(stream.exponential(10**9) / 1e9) * 1e9) for _ in range(count)]
    return list(given["at_ns"])


def leaves_ns(population: Mapping[str, Any]) -> list[int | None]:
    """When planned peers leave at the latest, host by host; None for as their departure says."""
    given = population["arrivals"]
    return given["leave_ns"] if given["kind"] == "sessions" else [None] * len(population["hosts"])


def stay_ns(departure: Mapping[str, Any], seed: int, peer: int, download_ns: int) -> int | None:
    """How long a peer stays, from its completion or (seeds, sessions) its arrival on.

    Args:
        departure: from the plan.
        seed: seed of the run.
        peer: number of the peer among those of all swarms.
        download_ns: what its download took.

    Returns:
        None if it stays.
    """
    stream = RandomStream(seed, "departure", peer)
    kind = departure["kind"]
    if kind == "at-once":
        return 0
    if kind == "after":
        return stream.exponential(departure["mean_ns"])
    if kind == "after-share":
        return stream.exponential(round(download_ns * departure["share"]))
    if kind == "session":
        return round(max(quantile(departure["stay_s"], stream.unit()), 0.0) * 1e9)
    return None


def _expected(
    steps: Sequence[tuple[float, float]], period_s: float | None
) -> Generator[float, float, None]:
    """Takes how many more arrivals are expected, gives the instant by which they are.

    A Poisson process whose rate is a step function of time is one of rate one in the integral of
    the rate. `RateClock` of the crate `plan` is the original.
    """
    step, begun_s, now_s = 0, 0.0, 0.0
    arrivals: float = yield 0.0
    while True:
        while now_s < LATEST_S:
            per_s = steps[step][1]
            end_s = steps[step + 1][0] if step + 1 < len(steps) else period_s
            if end_s is None:
                now_s += arrivals / per_s
                break
            expected = per_s * max(begun_s + end_s - now_s, 0.0)
            if arrivals < expected:
                now_s += arrivals / per_s
                break
            arrivals -= expected
            now_s = begun_s + end_s
            step += 1
            if step == len(steps):
                step, begun_s = 0, now_s
        arrivals = yield min(now_s, LATEST_S)
