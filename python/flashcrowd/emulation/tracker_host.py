"""A host for trackers that have none in the plan: at no distance from any host."""

from __future__ import annotations

from flashcrowd._core import Plan
from flashcrowd.plan.parts import workloads
from flashcrowd.plan.types import Conditions, SwarmWorkload, Workload

NAME = "tracker"

NOTHING_BETWEEN: Conditions = {
    "rate_bps": None,
    "queue": {"kind": "drop-tail", "packets": None, "bytes": None},
    "delay_ns": 0,
    "jitter": None,
    "loss": None,
    "framing": {"kind": "plain", "overhead_bytes": 0},
}
"""Conditions of a piece of path that does nothing to packets."""


def with_tracker_host(plan: Plan) -> Plan:
    """The plan with one more host, behind all others, if a swarm's tracker has none.

    In the simulation such a tracker answers at once, or after its answer's delay. Here only the
    access line of the asking host is between: a program talks to its tracker over its line.
    """
    homeless = [it for it in workloads(plan, SwarmWorkload) if it["tracker"]["host"] is None]
    if not homeless:
        return plan
    network = plan.network
    groups, hosts = network["groups"], network["hosts"]
    host, group, core = len(hosts), len(groups), len(network["cores"])
    stack = hosts[homeless[0]["populations"][0]["hosts"][0]]["stack"]
    names = {it["name"] for it in hosts}
    name = next(it for it in (NAME, *(f"{NAME}-{n}" for n in range(len(hosts)))) if it not in names)
    rows = [network["core_of"][row * group : (row + 1) * group] for row in range(group)]
    return plan.with_(
        network={
            **network,
            "groups": [*groups, name],
            "hosts": [*hosts, {"name": name, "group": group, "stack": stack, "up": [], "down": []}],
            "cores": [
                *network["cores"],
                {"links": [], "conditions": NOTHING_BETWEEN, "draw": None},
            ],
            "core_of": [*(it for row in rows for it in (*row, core)), *[core] * (group + 1)],
        },
        workloads=[_at_home(it, host) for it in plan.workloads],
    )


def _at_home(workload: Workload, host: int) -> Workload:
    """A workload, with a host for its tracker if that has none."""
    if workload["kind"] != "swarm" or workload["tracker"]["host"] is not None:
        return workload
    return {**workload, "tracker": {**workload["tracker"], "host": host}}
