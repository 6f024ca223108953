"""Traces in a plan: each is in it once, and links have its index."""

from __future__ import annotations

from typing import Any, NotRequired, TypedDict, cast

from flashcrowd.base.units import Rate
from flashcrowd.plan.types import Change, CorePath, Link, Network, Trace
from flashcrowd.scenario.capacity import PACKET
from flashcrowd.scenario.framing import Framing
from flashcrowd.scenario.trace import Trace as TraceTable


class Followed(TypedDict):
    """The trace of a link: its index, or nothing."""

    trace: NotRequired[int | None]


class Listed(TypedDict):
    """The traces of a network: all of them, or nothing."""

    traces: NotRequired[list[Trace]]


class Traces:
    """The traces of a network, in the order in which links first use them."""

    def __init__(self) -> None:
        self.all: list[Trace] = []
        self._index: dict[tuple[TraceTable, int], int] = {}

    def listed(self) -> Listed:
        """The traces of a network: all of them, or nothing."""
        return {"traces": self.all} if self.all else {}

    def of(self, rate: Rate | TraceTable | None, framing: Framing) -> Followed:
        """The trace of a link: its index, or nothing."""
        if not isinstance(rate, TraceTable):
            return {}
        # An opportunity carries one full packet, whatever that is on this link.
        frame = framing.frame(PACKET) if rate.capacity.kind == "opportunities" else 0
        key = (rate, frame)
        if key not in self._index:
            self._index[key] = len(self.all)
            self.all.append(_lowered(rate, frame))
        return {"trace": self._index[key]}


def _lowered(trace: TraceTable, frame: int) -> Trace:
    capacity = trace.capacity
    if capacity.kind == "opportunities":
        return {"kind": "opportunities", "at_ms": list(capacity.times), "bytes": frame}
    return {
        "kind": "rates",
        "points": list(zip(capacity.times, capacity.bps, strict=True)),
        "length_ns": None if trace.end == "hold" else capacity.length_ns(),
    }


def trace_of(network: Network, link: Link | CorePath) -> Trace | None:
    """The trace that a link of a network follows."""
    index = link.get("trace")
    return None if index is None else network.get("traces", [])[index]


Pending = dict[str, Any]
"""A change that has the whole of a link's new trace in place of its index."""


def indexed(network: Network, changes: list[Pending]) -> tuple[Network, list[Change]]:
    """The network with the traces that changes bring, and the changes with their indices."""
    traces = list(network.get("traces", []))
    for change in changes:
        if "trace" not in change:
            continue
        if change["trace"] not in traces:
            traces.append(change["trace"])
        change["trace"] = traces.index(change["trace"])
    if len(traces) != len(network.get("traces", [])):
        network = {**network, "traces": traces}
    return network, cast("list[Change]", changes)
