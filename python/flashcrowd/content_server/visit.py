"""Who comes to a content server: the draws of a plan, as its clients are played in real time."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import accumulate
from typing import Literal

from flashcrowd._core import Plan
from flashcrowd.plan.parts import workload
from flashcrowd.plan.types import OriginWorkload


@dataclass(frozen=True)
class Visit:
    """Who comes, when, and for what.

    Attributes:
        number: of the client in its server.
        population: the name of its kind.
        host: the number of its host in the plan.
        host_name: the name of its host.
        file: number of the file.
        at_s: when it comes.
        leave_s: when it goes at the latest, with its file or without; None for never.
        rate_bps: of its line, packets' headers included; infinite for a line without a rate.
        in_order: whether it asks for the bytes in order.
    """

    number: int
    population: str
    host: int
    host_name: str
    file: int
    at_s: float
    leave_s: float | None
    rate_bps: float
    in_order: bool


def visits_of(plan: Plan, seed: int, index: int) -> list[Visit]:
    """Who comes in a run, as in the simulation of the same plan with the same seed.

    Args:
        plan: the plan.
        seed: the run's.
        index: number of the origin among the workloads.
    """
    populations = workload(plan, index, OriginWorkload)["populations"]
    found = plan.visits(seed, index)
    return [
        Visit(
            number=number,
            population=populations[population]["name"],
            host=host,
            host_name=plan.network["hosts"][host]["name"],
            file=file,
            at_s=at_ns / 1e9,
            leave_s=None if leave_ns is None else leave_ns / 1e9,
            rate_bps=_rate_bps(plan, host),
            in_order=populations[population]["in_order"],
        )
        for number, (population, host, file, at_ns, leave_ns) in enumerate(found)
    ]


def busiest_bps(plan: Plan, seed: int, index: int) -> float:
    """What all who are there take at most at one instant, if each is served at its line's rate.

    Args:
        plan: the plan.
        seed: the run's.
        index: number of the origin among the workloads.

    Returns:
        bits per second, packets' headers included; infinite if a client's line and the server's
        have no rate.
    """
    origin = workload(plan, index, OriginWorkload)
    bits = origin["files"]["size_bytes"] * 8
    changes = [
        change
        for it in visits_of(plan, seed, index)
        for change in ((it.at_s, it.rate_bps), (it.at_s + bits / it.rate_bps, -it.rate_bps))
    ]
    if any(math.isinf(rate) for _, rate in changes):
        return _rate_bps(plan, origin["host"], "up")
    taken = accumulate(rate for _, rate in sorted(changes))
    return min(max(taken, default=0.0), _rate_bps(plan, origin["host"], "up"))


def _rate_bps(plan: Plan, host: int, way: Literal["up", "down"] = "down") -> float:
    """The least rate of a host's line towards it, or from it."""
    network = plan.network
    links = [network["links"][it]["conditions"] for it in network["hosts"][host][way]]
    return min((it["rate_bps"] for it in links if it["rate_bps"] is not None), default=math.inf)
