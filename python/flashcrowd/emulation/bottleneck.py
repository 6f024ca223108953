"""The lowest rate on a way through a plan's network."""

from __future__ import annotations

from flashcrowd._core import Plan
from flashcrowd.plan.types import TransferWorkload

_SPARE_BYTES = 1_000_000
_SPARE = 1.02


def most_bps(plan: Plan, one: int, other: int) -> int | None:
    """The rate of the narrowest link on the way, at its widest; None if no link has one."""
    network = plan.network
    groups = [network["hosts"][host]["group"] for host in (one, other)]
    core = network["cores"][network["core_of"][groups[0] * len(network["groups"]) + groups[1]]]
    least = None
    for link in (*network["hosts"][one]["up"], *core["links"], *network["hosts"][other]["down"]):
        if network["links"][link].get("trace") is not None:
            continue
        rates = [network["links"][link]["conditions"]["rate_bps"]]
        rates += [
            change["conditions"]["rate_bps"]
            for change in plan.timeline
            if change["kind"] == "link" and change["link"] == link
        ]
        known = [rate for rate in rates if rate is not None]
        if len(known) == len(rates):
            widest = max(known)
            least = widest if least is None else min(least, widest)
    return least


def most_bytes(plan: Plan, spec: TransferWorkload) -> int | None:
    """A file for a flow: its size, or more than its way carries until it stops.

    None if nothing says how much that may be.
    """
    if spec["size_bytes"] is not None:
        return spec["size_bytes"]
    rate = most_bps(plan, spec["from"], spec["to"])
    stop_ns = spec["stop_ns"] or plan.stop["horizon_ns"]
    if rate is None:
        return None
    seconds = max(0.0, (stop_ns - spec["start_ns"]) / 1e9)
    return int(rate / 8 * seconds * _SPARE) + _SPARE_BYTES
