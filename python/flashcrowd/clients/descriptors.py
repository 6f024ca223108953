"""Open files: sessions of libtorrent share those of one process."""

from __future__ import annotations

import resource
from collections.abc import Mapping
from typing import Any

EMBEDDED = "libtorrent"
_BASE = 64
_SESSION = 16
"""Of a session besides its connections: sockets that listen, its event loop, the file."""
_PROCESS = 4
"""Of a program that is a process: the connection over which it is asked, its start."""


def needed(plan: Mapping[str, Any], workload: int) -> int:
    """How many files this process has open at most while it plays a swarm and those before it."""
    swarms = [it for it in plan["workloads"][: workload + 1] if it["kind"] == "swarm"]
    return _BASE + sum(_of_swarm(plan, swarm) for swarm in swarms)


def _of_swarm(plan: Mapping[str, Any], swarm: Mapping[str, Any]) -> int:
    peers = sum(len(population["hosts"]) for population in swarm["populations"])
    total = 0
    for population in swarm["populations"]:
        each = _PROCESS
        if (population.get("program") or EMBEDDED) == EMBEDDED:
            profile = plan["profiles"][population["profile"]]
            each = _SESSION + min(profile["connections"]["max_connections"], peers)
        total += each * len(population["hosts"])
    return total


def allowed() -> int:
    """How many files this process may have open, with the limit raised as far as it goes."""
    return resource.getrlimit(resource.RLIMIT_NOFILE)[1]


def raise_limit() -> None:
    """Raise the limit of this process as far as it goes."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (allowed(), allowed()))


def refusal(plan: Mapping[str, Any], workload: int) -> str | None:
    """Why a swarm has too many connections for this process; None if it has not.

    All swarms of a plan are played by one process: one that fits in by itself may not
    beside others.
    """
    need, most = needed(plan, workload), allowed()
    if need <= most:
        return None
    beside = any(it["kind"] == "swarm" for it in plan["workloads"][:workload])
    included = ", those of the swarms before it included" if beside else ""
    return (
        f"workloads.{plan['workloads'][workload]['name']}: {need} files would be open at once"
        f"{included}, and {most} may be; raise the limit (ulimit -Hn {need}) or lower "
        "connections.max_connections"
    )
