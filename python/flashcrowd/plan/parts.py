"""Parts of a plan that are of one kind, with their types."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import TypeVar, cast, get_args, get_type_hints

from flashcrowd._core import Plan
from flashcrowd.plan import types
from flashcrowd.plan.types import Measures, Settings, TransferWorkload, Workload

FORMAT = 1
"""Version of the plan's format."""
W = TypeVar("W", bound=Workload)
NOTHING: Measures = {
    "series": [],
    "pieces_ns": None,
    "queues_ns": None,
    "packets_ns": None,
    "send_gaps": False,
    "payloads": False,
    "rtts": False,
    "unchokes": False,
    "have": False,
    "windows": [],
    "connections": None,
}
"""The measures of a plan that measures nothing."""
EMPTY: types.Plan = {
    "format": FORMAT,
    "title": "",
    "network": {"groups": [], "hosts": [], "links": [], "cores": [], "core_of": []},
    "stacks": [],
    "utps": [],
    "profiles": [],
    "workloads": [],
    "timeline": [],
    "measures": NOTHING,
    "stop": {"horizon_ns": 1_000_000_000, "stall_ns": 1_000_000_000},
}
"""A plan without a host, in which nothing happens."""


def workload(plan: Plan, index: int, table: type[W]) -> W:
    """A workload of a known kind, by its number."""
    found = plan.workloads[index]
    if found["kind"] != kind_of(table):
        raise TypeError(f"workload {index} is no {kind_of(table)}")
    return cast("W", found)


def numbered(plan: Plan, table: type[W]) -> Iterator[tuple[int, W]]:
    """The workloads of a kind, with their numbers."""
    for index, found in enumerate(plan.workloads):
        if found["kind"] == kind_of(table):
            yield index, cast("W", found)


def workloads(plan: Plan, table: type[W]) -> list[W]:
    """The workloads of a kind."""
    return [found for _, found in numbered(plan, table)]


def hosts_of(workload: Workload) -> set[int]:
    """The hosts of a workload: its populations', or both ends and what else it names."""
    if "populations" in workload:
        return {host for it in workload["populations"] for host in it["hosts"]}
    return {workload["from"], workload["to"], *workload.get("mirrors", ())}


def utp_of(plan: Plan, transfer: TransferWorkload) -> Settings:
    """The uTP configuration of a transfer that is over uTP."""
    carrier = transfer["transport"]
    if carrier is None or "utp" not in carrier:
        raise ValueError(f"{transfer['name']} is not over uTP")
    return plan.utps[carrier["utp"]]


@cache
def kind_of(table: type[Workload]) -> str:
    """The kind of the workloads that have this type."""
    return get_args(get_type_hints(table)["kind"])[0]
