"""Lowers the logs of connections."""

from __future__ import annotations

from collections.abc import Mapping

from flashcrowd.plan.types import LoggedConnections
from flashcrowd.plan.types import Workload as WorkloadTable
from flashcrowd.plan.workloads import by_workload
from flashcrowd.scenario.check import connecting
from flashcrowd.scenario.connections import Connections
from flashcrowd.scenario.hosts import HostNames
from flashcrowd.scenario.workloads import Workload


def lower_connections(
    chosen: Connections,
    workloads: Mapping[str, Workload],
    lowered: list[WorkloadTable],
    hosts: HostNames,
) -> LoggedConnections:
    """Which connections of the plan's workloads are logged, and at which hosts."""
    indices = by_workload(workloads, lowered)
    names = connecting(workloads) if chosen.of == "all" else chosen.of
    found = None
    if chosen.hosts != "all":
        found = [host for name in chosen.hosts for host in hosts.find(name) or ()]
    return {
        "workloads": sorted({index for name in names for index in indices[name]}),
        "hosts": None if found is None else sorted({hosts.index[host] for host in found}),
        "from_ns": chosen.begin.ns,
        "to_ns": None if chosen.to is None else chosen.to.ns,
        "packets": chosen.packets,
        "metrics": chosen.metrics,
        "timers": chosen.timers,
    }
