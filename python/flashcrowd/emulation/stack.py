"""A plan's TCP stack as settings of this kernel: what can be set is set, what differs is named."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator
from functools import cache
from typing import Any, TypeAlias

from flashcrowd import _core
from flashcrowd._core import Plan
from flashcrowd.plan.parts import workloads
from flashcrowd.plan.types import (
    DownloadWorkload,
    OriginWorkload,
    Settings,
    SwarmWorkload,
    TransferWorkload,
    WebWorkload,
)

BASE = "linux-6"
"""The stack of the model that is this kernel's."""

CONTROLLERS = {
    "cubic": "cubic", "cubic-linux": "cubic", "new-reno": "reno", "bbr": "bbr",
    "vegas": "vegas", "lp": "lp",
}  # fmt: skip
"""Congestion controllers of plans by what Linux calls its own (`TCP_CONGESTION`)."""

SELDOM = frozenset({"vegas", "lp"})
"""Those that few studies ask for: a machine without them is not said to lack anything."""

_UNREAD = {
    "cubic": frozenset[str](),
    **dict.fromkeys(("reno", "bbr", "vegas", "lp"), frozenset({"hystart", "pacing"})),
}
"""Fields that say nothing with a controller."""

_SET = frozenset(
    (
        *("name", "mtu_bytes", "timestamps", "window_scaling", "sack", "dsack", "controller"),
        *("ledbat", "rack", "tail_loss_probe", "ecn", "initial_window_segments"),
        *("receive_window", "send_buffer", "idle_restart", "syn_retries", "data_retries"),
        *("time_wait_ns", "tso_bytes"),
    )
)
"""Fields that are set here, or make no difference to one run."""

LONGEST_SEGMENT = 1 << 16
"""The longest super-segment of a kernel, in bytes."""

_WINDOW_SHARE = 160 / 256
"""The part of a receive buffer that is window, once a segment of 1448 B has come that takes 2304 B
of memory (`tcp_scaling_ratio`)."""

_ECN = {"off": "0", "on": "1", "passive": "2"}
"""`net.ipv4.tcp_ecn`."""


def controller(stack: Settings) -> str | None:
    """Linux's name of a stack's congestion controller; `None` if it has none like it."""
    return CONTROLLERS.get(stack["controller"])


def differences(stack: Settings) -> list[str]:
    """The settings of a stack that this kernel cannot have, a few words each."""
    found = []
    algorithm = controller(stack)
    if algorithm is None:
        found.append(f"controller {stack['controller']}")
    if stack["ecn"] not in _ECN:
        found.append(f"ecn {stack['ecn']}")
    if stack["tso_bytes"] > LONGEST_SEGMENT:
        found.append(f"tso {stack['tso_bytes']} B (Linux: {LONGEST_SEGMENT} at most)")
    free = _SET | _UNREAD.get(algorithm or "cubic", frozenset())
    if not stack["receive_window"]["autotune"]:
        free |= {"right_sizing"}
    if _acknowledges_each(stack):
        free |= {"delayed_ack"}
    found += [
        f"{field} {_said(stack[field])} (Linux: {_said(value)})"
        for field, value in _base().items()
        if field not in free and stack[field] != value
    ]
    return found


def sysctls(stack: Settings) -> list[tuple[str, str]]:
    """Settings of a host's namespace, below `/proc/sys/net`."""
    receive, send = stack["receive_window"], stack["send_buffer"]
    buffer, most = (math.ceil(receive[it] / _WINDOW_SHARE) for it in ("buffer_bytes", "max_bytes"))
    buffers = {
        "tcp_rmem": f"4096 {buffer} {most}",
        "tcp_wmem": f"4096 {send['initial_bytes']} {send['max_bytes']}",
    }
    switches = {
        "tcp_moderate_rcvbuf": receive["autotune"],
        "tcp_timestamps": stack["timestamps"],
        "tcp_window_scaling": stack["window_scaling"],
        "tcp_sack": stack["sack"],
        "tcp_dsack": stack["dsack"],
        "tcp_recovery": stack["rack"],
        "tcp_slow_start_after_idle": stack["idle_restart"],
        "tcp_no_metrics_save": True,
    }
    numbers = {
        "tcp_ecn": _ECN[stack["ecn"]],
        "tcp_early_retrans": "3" if stack["tail_loss_probe"] else "0",
        "tcp_syn_retries": str(stack["syn_retries"]),
        "tcp_retries2": str(stack["data_retries"]),
    }
    words = {name: str(int(on)) for name, on in switches.items()}
    return [(f"ipv4/{name}", value) for name, value in (buffers | words | numbers).items()]


def settings(plan: Plan, addresses: list[str]) -> str:
    """The settings of all hosts of a plan, as `_core.Lab` reads them."""
    stacks, controlled = plan.stacks, swarm_hosts(plan, controlled=True)
    used, unasked = used_by_hosts(plan), unasking(plan)
    hosts = []
    for number, address in enumerate(addresses):
        own = stacks[plan.network["hosts"][number]["stack"]]
        chosen = next((stacks[index] for index in sorted(used[number])), own)
        given = next((controller(stacks[index]) for index in unasked.get(number, ())), None)
        hosts.append(
            {
                "address": [int(part) for part in address.split(".")],
                "controller": given,
                **of_host(chosen, number in controlled),
            }
        )
    return json.dumps(hosts)


def of_host(stack: Settings, pings: bool = False) -> dict[str, object]:
    """The settings of a stack that a kernel has for a host as a whole.

    Args:
        stack: the stack.
        pings: whether programs of this group may send echo requests without privileges, as most
            distributions have it; a new namespace does not allow it.
    """
    allowed = [("ipv4/ping_group_range", f"{os.getegid()} {os.getegid()}")] if pings else []
    return {
        "mtu": stack["mtu_bytes"],
        "largest_segment": largest_segment(stack),
        "initial_window": stack["initial_window_segments"],
        "quick_ack": _acknowledges_each(stack),
        "sysctls": [*sysctls(stack), *allowed],
    }


def _acknowledges_each(stack: Settings) -> bool:
    """Whether it acknowledges each segment at once: Linux does for a route with `quickack`."""
    return stack["delayed_ack"]["segments"] == 1


def largest_segment(stack: Settings) -> int:
    """Bytes of the largest super-segment that a host leaves to its network card; 0 for none."""
    return stack["tso_bytes"] if stack["tso_bytes"] > stack["mtu_bytes"] else 0


def offloads(plan: Plan) -> bool:
    """Whether some host leaves the cutting of super-segments to its network card."""
    return any(largest_segment(stack) for stack in plan.stacks)


def used_by_hosts(plan: Plan) -> list[set[int]]:
    """The TCP stacks that something uses on each host: its own, or those of its transfers."""
    hosts = plan.network["hosts"]
    used: list[set[int]] = [set() for _ in hosts]
    for number in swarm_hosts(plan):
        used[number].add(hosts[number]["stack"])
    for workload in plan.workloads:
        if "transport" in workload and "utp" not in (workload["transport"] or {}):
            for end in ends(workload):
                used[end].add(stack_at(plan, workload, end))
    return used


def unasking(plan: Plan) -> dict[int, set[int]]:
    """By host, the TCP stacks of its programs that do not ask for a congestion controller.

    These are clients of swarms, content servers, and fetch; a flow, a page and a client of
    an origin ask for theirs.
    """
    hosts = plan.network["hosts"]
    found = {number: {hosts[number]["stack"]} for number in swarm_hosts(plan)}
    for origin in workloads(plan, OriginWorkload):
        server = origin["host"]
        found.setdefault(server, set()).add(stack_at(plan, origin, server))
    for download in workloads(plan, DownloadWorkload):
        for host in ends(download):
            found.setdefault(host, set()).add(stack_at(plan, download, host))
    return found


def conflicts(plan: Plan) -> Iterator[str]:
    """Hosts whose workloads need settings that a kernel has once for all of a host."""
    stacks = plan.stacks
    for number, used in enumerate(used_by_hosts(plan)):
        if len({json.dumps(of_host(stacks[index])) for index in used}) > 1:
            names = " and ".join(stacks[index]["name"] for index in sorted(used))
            name = plan.network["hosts"][number]["name"]
            yield (
                f"host {name}: {names} differ in what a kernel sets for a host as a whole "
                "(buffers, initial window, acknowledgements, MTU, options); give their flows hosts "
                "of their own"
            )
    for number, unasked in unasking(plan).items():
        wanted = {str(controller(stacks[index])) for index in unasked}
        if len(wanted) > 1:
            name = plan.network["hosts"][number]["name"]
            yield (
                f"host {name}: a content server or a client has the congestion controller of its "
                f"host, and {' and '.join(sorted(wanted))} are wanted there; give them hosts of "
                "their own"
            )


def swarm_hosts(plan: Plan, *, controlled: bool = False) -> set[int]:
    """The hosts on which clients run; with `controlled`, those of them with upload controllers."""
    return {
        host
        for swarm in workloads(plan, SwarmWorkload)
        for population in swarm["populations"]
        if not controlled or "upload_control" in population
        for host in population["hosts"]
    }


Connecting: TypeAlias = TransferWorkload | WebWorkload | OriginWorkload | DownloadWorkload
"""Workloads whose connections a plan gives a transport."""


def ends(workload: Connecting) -> list[int]:
    """The hosts between which a workload has its connections; a content server's comes first."""
    if workload["kind"] != "origin":
        return [workload["from"], workload["to"], *workload.get("mirrors", ())]
    clients = (host for population in workload["populations"] for host in population["hosts"])
    return [workload["host"], *clients]


def stack_at(plan: Plan, workload: Connecting, host: int) -> int:
    """The TCP stack of a workload's connections at one of its hosts: its own, or the host's."""
    chosen = (workload["transport"] or {}).get("tcp")
    return plan.network["hosts"][host]["stack"] if chosen is None else chosen


def stack_of(plan: Plan, workload: TransferWorkload) -> Settings:
    """The TCP stack of a transfer: its own, or that of its sending host."""
    return plan.stacks[stack_at(plan, workload, workload["from"])]


def _said(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


@cache
def _base() -> dict[str, object]:
    return json.loads(_core.tcp_profiles())[BASE]
