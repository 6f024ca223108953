"""Lengths of TCP payloads as hosts send them, by population: the table `payloads`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from flashcrowd._core import Plan
from flashcrowd.base.rows import Row
from flashcrowd.plan.parts import workloads
from flashcrowd.plan.types import SwarmWorkload


def rows(plan: Plan, sent: Iterable[Row]) -> list[Row]:
    """The table, of what the emulator read from each host (`host`, `bytes`, `count`).

    All TCP of a host counts, so also the few requests to the tracker. A host that is in several
    populations counts for each.
    """
    of_hosts: dict[int, list[tuple[str, str]]] = {}
    for swarm in workloads(plan, SwarmWorkload):
        for population in swarm["populations"]:
            for host in population["hosts"]:
                of_hosts.setdefault(host, []).append((swarm["name"], population["name"]))
    return summed(
        {"swarm": swarm, "population": population, "bytes": row["bytes"], "count": row["count"]}
        for row in sent
        for swarm, population in of_hosts.get(row["host"], [])
    )


def summed(parts: Iterable[Row]) -> list[Row]:
    """One row for each length in a population, out of rows of several hosts or nodes."""
    counts: Counter[tuple[str, str, int]] = Counter()
    for row in parts:
        counts[row["swarm"], row["population"], row["bytes"]] += row["count"]
    return [
        {"swarm": swarm, "population": population, "bytes": length, "count": count}
        for (swarm, population, length), count in sorted(counts.items())
    ]
