"""A network and its flows, for both sides of the comparison: hosts on lines, and what they send."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

SEGMENT = 1460
"""Payload of a full segment; its packet has 40 bytes more."""

LEFT, RIGHT = 1000, 1001
"""Numbers of ns-2's nodes for the routers. A star has the left one."""


@dataclass(frozen=True)
class Link:
    """A rate, a delay one way, and packets in its queue, the one in transmission included."""

    rate_bps: int
    delay_s: float
    queue: int


@dataclass(frozen=True)
class Flow:
    """`segments` full segments from host to host, or as many as go."""

    sender: int
    receiver: int
    start_s: float
    segments: int | None = None


@dataclass(frozen=True)
class Scene:
    """Hosts on lines (up and down), and a link that all flows share unless it is a star.

    With such a link the first half of the hosts sends to the second.
    """

    lines: Sequence[tuple[Link, Link]]
    shared: Link | None
    flows: Sequence[Flow]
    end_s: float

    @property
    def watched(self) -> list[tuple[int, int]]:
        """The links whose queues are compared, by their nodes in ns-2."""
        if self.shared:
            return [(LEFT, RIGHT)]
        return [(host, LEFT) for host in sorted({it.sender for it in self.flows})]

    def router(self, host: int) -> int:
        """The node behind a host's line."""
        return RIGHT if self.shared and host >= len(self.lines) // 2 else LEFT


def dumbbell(
    flows: int,
    queue: int,
    rtt_s: float,
    starts: Sequence[float],
    *,
    rate_bps: int = 2_000_000,
    segments: int | None = None,
    end_s: float,
) -> Scene:
    """So many senders and receivers on fast lines, and one link between them.

    Senders are 1 to 8 ms away, so that arrivals do not keep step with departures (phase effects).
    """
    lines = [Link(100_000_000, 0.001 + it * 0.00431 % 0.007, 1000) for it in range(flows)]
    lines += [Link(100_000_000, 0.001, 1000)] * flows
    return Scene(
        [(it, it) for it in lines],
        Link(rate_bps, rtt_s / 2 - 0.002, queue),
        [Flow(it, flows + it, starts[it], segments) for it in range(flows)],
        end_s,
    )


def star(
    delays_s: Sequence[float],
    queue: int,
    starts: Sequence[float],
    *,
    uploads: int = 4,
    segments: int | None = None,
    end_s: float,
) -> Scene:
    """ADSL lines of 1 and 8 Mbit/s at one router; each host sends to the next `uploads` ones."""
    hosts = len(delays_s)
    lines = [(Link(1_000_000, it, queue), Link(8_000_000, it, queue)) for it in delays_s]
    flows = [
        Flow(host, (host + step) % hosts, starts[host * uploads + step - 1], segments)
        for host in range(hosts)
        for step in range(1, uploads + 1)
    ]
    return Scene(lines, None, flows, end_s)


def study(scenes: Sequence[Scene], stack: dict[str, Any]) -> dict[str, Any]:
    """A study of scenes that differ in the starts of their flows only: a point each."""
    scene = scenes[0]
    groups, paths, workloads, sweep = {}, {}, {}, {}
    for number, (up, down) in enumerate(scene.lines):
        access = {
            "up": f"{up.rate_bps} bit/s",
            "down": f"{down.rate_bps} bit/s",
            "up_queue": f"{up.queue} packets",
            "down_queue": f"{down.queue} packets",
            "delay": f"{up.delay_s * 1e3:g} ms",
        }
        groups[f"h{number}"] = {"access": access}
    links = {}
    if shared := scene.shared:
        same = {
            "rate": f"{shared.rate_bps} bit/s",
            "queue": f"{shared.queue} packets",
            "delay": f"{shared.delay_s * 1e3:g} ms",
        }
        links["shared"] = {**same, "back": same}
        for number, flow in enumerate(scene.flows):
            between = [f"h{flow.sender}", f"h{flow.receiver}"]
            paths[f"p{number}"] = {"between": between, "through": ["shared"]}
    for number, flow in enumerate(scene.flows):
        ends: dict[str, Any] = {"from": f"h{flow.sender}", "to": f"h{flow.receiver}"}
        if flow.segments:
            ends["size"] = f"{flow.segments * SEGMENT} B"
        ends["stop"] = f"{scene.end_s} s"
        workloads[f"f{number}"] = {"kind": "transfer", **ends}
        starts = [f"{it.flows[number].start_s * 1e3:.3f} ms" for it in scenes]
        sweep[f"workloads.f{number}.start"] = starts
    return {
        "format": 1,
        "title": "As in ns-2",
        "repeats": 1,
        "network": {
            "rtt": "0 ms",
            "stack": "theirs",
            "groups": groups,
            "links": links,
            "paths": paths,
        },
        "stacks": {"theirs": stack},
        "workloads": workloads,
        "stop": {"horizon": f"{scene.end_s} s"},
        "sweep": [sweep],
    }
