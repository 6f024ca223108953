"""Open files: clients that are no processes of their own share those of one."""

from __future__ import annotations

import resource

from flashcrowd._core import Plan
from flashcrowd.plan.parts import numbered
from flashcrowd.plan.types import SwarmWorkload

EMBEDDED = ("libtorrent", "mainline-4.0.2")
_BASE = 64
_SESSION = 16
"""Of a client in here besides its connections: sockets that listen, its loop, the file."""
_PROCESS = 4
"""Of a program that is a process: the connection over which it is asked, its start."""


def needed(plan: Plan, workload: int) -> int:
    """How many files this process has open at most while it plays a swarm and those before it."""
    swarms = numbered(plan, SwarmWorkload)
    return _BASE + sum(_of_swarm(plan, swarm) for index, swarm in swarms if index <= workload)


def _of_swarm(plan: Plan, swarm: SwarmWorkload) -> int:
    peers = sum(len(population["hosts"]) for population in swarm["populations"])
    total = 0
    for population in swarm["populations"]:
        each = _PROCESS
        if (population.get("program") or EMBEDDED[0]) in EMBEDDED:
            profile = plan.profiles[population["profile"]]
            each = _SESSION + min(profile["connections"]["max_connections"], peers)
        total += each * len(population["hosts"])
    return total


def allowed() -> int:
    """How many files this process may have open, with the limit raised as far as it goes."""
    return resource.getrlimit(resource.RLIMIT_NOFILE)[1]


def raise_limit() -> None:
    """Raise the limit of this process as far as it goes."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (allowed(), allowed()))


def refusal(plan: Plan, workload: int) -> str | None:
    """Why a swarm has too many connections for this process; None if it has not.

    All swarms of a plan are played by one process: one that fits in by itself may not
    beside others.
    """
    need, most = needed(plan, workload), allowed()
    if need <= most:
        return None
    beside = any(index < workload for index, _ in numbered(plan, SwarmWorkload))
    included = ", those of the swarms before it included" if beside else ""
    return (
        f"workloads.{plan.workloads[workload]['name']}: {need} files would be open at once"
        f"{included}, and {most} may be; raise the limit (ulimit -Hn {need}) or lower "
        "connections.max_connections"
    )
