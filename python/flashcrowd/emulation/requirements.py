"""What a plan needs that the emulation cannot do, found before anything starts."""

from __future__ import annotations

from collections.abc import Iterator

from flashcrowd._core import Plan
from flashcrowd.clients.programs import DEFAULT
from flashcrowd.emulation import players, stack
from flashcrowd.emulation.addresses import MOST_HOSTS
from flashcrowd.emulation.flow import MOST_FLOWS
from flashcrowd.emulation.stage import APPS
from flashcrowd.plan.parts import workloads
from flashcrowd.plan.place import study_place
from flashcrowd.plan.types import DownloadWorkload, OriginWorkload, SwarmWorkload, TransferWorkload

_APPS = {app.kind: app for app in APPS}
KINDS = tuple(_APPS)
"""Workloads that real programs play."""

_MEASURES = ("connections",)
"""Measures that the programs do not report, and packets do not show."""


def impossible(plan: Plan) -> Iterator[str]:
    """The parts of a plan that no machine can emulate with this version, with a remedy."""
    hosts = plan.network["hosts"]
    if len(hosts) > MOST_HOSTS:
        yield (
            f"network: {len(hosts)} hosts; the addresses end at {MOST_HOSTS}; take fewer, or run "
            "it with --engine simulation"
        )
    flows = 0
    for index, workload in enumerate(plan.workloads):
        where = study_place("workloads", workload)
        app = _APPS.get(workload["kind"])
        if app is None:
            yield (
                f"{where}: {workload['kind']} has no real program here yet, only "
                f"{' and '.join(KINDS)}; run it with --engine simulation"
            )
        else:
            yield from app.refusals(plan, index)
        if workload["kind"] == "transfer":
            flows += workload["flows"]
    if flows > MOST_FLOWS:
        yield (
            f"workloads: {flows} flows; ports end at {MOST_FLOWS}; take fewer, or run it with "
            "--engine simulation"
        )
    for index in sorted(_stacks(plan)):
        config = plan.stacks[index]
        for difference in stack.differences(config):
            yield (
                f"{study_place('stacks', config)}: {difference} cannot be set in this kernel; "
                f'take base = "{stack.BASE}" with one of {", ".join(stack.CONTROLLERS)}'
            )
    yield from stack.conflicts(plan)
    for name in _MEASURES:
        if plan.measures.get(name):
            yield (
                f"measures: {name} is not recorded of real programs yet; leave it out, or run it "
                "with --engine simulation"
            )
    if plan.measures.get("packets_ns"):
        for workload in workloads(plan, TransferWorkload):
            if "utp" in (workload["transport"] or {}):
                yield (
                    "measures: packets are those of the kernel's TCP; "
                    f"{study_place('workloads', workload)} goes over uTP; take measures.capture "
                    "in its place"
                )


def undivided(plan: Plan) -> Iterator[str]:
    """The parts of a plan that several nodes cannot play together, with a remedy."""
    for workload in workloads(plan, OriginWorkload):
        yield (
            f"{study_place('workloads', workload)}: a content server and its clients are on one "
            "node; play the run on one"
        )
    for workload in workloads(plan, DownloadWorkload):
        yield (
            f"{study_place('workloads', workload)}: fetch and its servers are on one node; play "
            "the run on one"
        )
    for name in ("capture", "packets_ns", "send_gaps", "unchokes"):
        if plan.measures.get(name):
            yield (
                f"measures: {name.removesuffix('_ns')} is not brought together from several nodes; "
                "leave it out, or play the run on one"
            )
    if stack.offloads(plan):
        yield (
            "stacks: super-segments (tso) are not carried between nodes; give the stacks "
            'tso = "0 B", or play the run on one node'
        )


def algorithms(plan: Plan) -> set[str]:
    """The kernel's congestion controllers that a plan's transfers and clients need."""
    wanted = {stack.controller(plan.stacks[index]) for index in _stacks(plan)}
    return {algorithm for algorithm in wanted if algorithm is not None}


def programs(plan: Plan) -> set[str]:
    """The programs that a plan asks for and others make, by name."""
    found = set[str]()
    for swarm in workloads(plan, SwarmWorkload):
        found |= {it.get("program") or DEFAULT for it in swarm["populations"]}
        if tracker := swarm["tracker"].get("program"):
            found.add(tracker)
    found |= {players.player(it).name for it in workloads(plan, TransferWorkload) if it["flows"]}
    return found - {*players.OURS}


def _stacks(plan: Plan) -> set[int]:
    """The stacks that something uses: those of hosts, and of workloads with one of their own."""
    ends = {
        end
        for workload in plan.workloads
        if "transport" in workload
        for end in stack.ends(workload)
    }
    hosts = plan.network["hosts"]
    return {hosts[host]["stack"] for host in ends}.union(*stack.used_by_hosts(plan))
