"""Runs side by side must not disturb each other: a budget of packets, and free processors."""

from __future__ import annotations

import json
import math
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

from flashcrowd import _core
from flashcrowd.content_server import visit
from flashcrowd.cores import cores
from flashcrowd.emulation.bottleneck import most_bps
from flashcrowd.emulation.processors import Processors
from flashcrowd.engines.need import Need
from flashcrowd.errors import Cancelled

PACKETS_PER_CORE = 25_000
"""Packets per second that a core carries without anybody noticing: 20 us each for both kernels'
stacks, the emulator and the programs, at half of its time."""
IDLE_HOST = 100
"""What a host costs whose client waits, in packets per second: 20 libtorrent peers at 20 kB/s took
5 % of a core (2 of them for packets), on a machine with other work beside."""
_PACKET_BYTES = 1448
_WITH_ACKS = 1.5
"""Packets for each segment of so many bytes: an acknowledgement for every second one that comes."""
_PEER_BYTES = 100_000
_PEER_PACKETS = _PEER_BYTES / _PACKET_BYTES * _WITH_ACKS
"""Packets per second that a peer sends who uploads and downloads so many bytes."""
FREE = 0.3
"""The share of the processors' time that has to be free before one more run begins. A run costs
most at its start, and what its clients do besides packets is not predicted: 16 runs of six clients
that fitted by their packets, and began together, took all of two cores for minutes."""
_LOOK_S = 0.1
MOST_PER_CORE = 4
"""Runs at a time, where nobody says how many: starts and ends cost what no prediction has."""


def capacity() -> int:
    """Packets per second that this machine is expected to carry."""
    return PACKETS_PER_CORE * cores()


def peers() -> int:
    """How many peers at 100 kB/s each that is."""
    return int(capacity() / (_PEER_PACKETS + IDLE_HOST))


def side_by_side(needs: Sequence[Need]) -> int:
    """How many runs may go on at a time: as many as fit by their mean packets, and by memory.

    `share` then lets each begin when there is room for it beside those under way.
    """
    packets, seconds = sum(it.packets for it in needs), sum(max(it.seconds, 1.0) for it in needs)
    most = min(MOST_PER_CORE * cores(), capacity() * seconds // max(packets, 1))
    available, largest = _core.available_memory(), max((it.bytes for it in needs), default=0)
    if available is not None and largest:
        most = min(most, available // largest)
    return max(1, int(most))


class _Cancellable(Protocol):
    @property
    def cancelled(self) -> bool: ...


class _Budget:
    """What is left of this machine."""

    def __init__(self) -> None:
        self.condition = threading.Condition()
        self.used = 0.0
        self.runs = 0
        self.processors: Processors | None = None

    def room(self) -> bool:
        """Whether the processors have time for one more, as far as the last one's start shows."""
        if self.processors is None:
            return True
        free = self.processors.free()
        return free is not None and free >= FREE

    def begin(self, packets_per_s: float) -> None:
        """One more run goes on."""
        self.used += packets_per_s
        self.runs += 1
        if self.processors is None:
            self.processors = Processors()
        self.processors.restart()

    def end(self, packets_per_s: float) -> None:
        """A run is over."""
        self.used -= packets_per_s
        self.runs -= 1
        self.condition.notify_all()


_BUDGET = _Budget()


@contextmanager
def share(packets_per_s: float, hosts: int, handle: _Cancellable) -> Iterator[None]:
    """Wait until a run with so many packets per second fits beside those under way.

    That is also when there is processor time for it. One alone always fits.

    Args:
        packets_per_s: what it is expected to send when it sends most.
        hosts: how many it has.
        handle: ends the waiting.

    Raises:
        Cancelled: the run was cancelled while it waited.
    """
    most = capacity()
    budget = _BUDGET
    packets_per_s += IDLE_HOST * hosts
    with budget.condition:
        while budget.runs and (budget.used + packets_per_s > most or not budget.room()):
            if handle.cancelled:
                raise Cancelled
            budget.condition.wait(_LOOK_S)
        budget.begin(packets_per_s)
    try:
        yield
    finally:
        with budget.condition:
            budget.end(packets_per_s)


def busiest(plan: Mapping[str, Any], plan_json: str, seed: int, mean: float) -> float:
    """Packets per second that a run sends when it sends most, as far as that can be foretold.

    A crowd before a content server comes and goes: four runs with 6,000 packets/s each, and
    25,000 when most clients were there, took two cores together, and their disks came late by
    half a second.

    Args:
        plan: the plan.
        plan_json: the same as text.
        seed: the run's.
        mean: packets per second that it is expected to send in the mean.
    """
    crowds = [
        visit.busiest_bps(plan, plan_json, seed, index) / 8 / _PACKET_BYTES * _WITH_ACKS
        for index, workload in enumerate(plan["workloads"])
        if workload["kind"] == "origin"
    ]
    return max(mean, *(it for it in crowds if math.isfinite(it)), 0.0)


def waiting_hosts(plan: Mapping[str, Any]) -> int:
    """The hosts on which programs may be while they wait: all but those that only download.

    A content server's client is there while it downloads, and nothing is before and after.
    """
    clients, others = set[int](), set[int]()
    for workload in plan["workloads"]:
        mine = {host for it in workload.get("populations", ()) for host in it["hosts"]}
        if workload["kind"] == "origin":
            clients |= mine
            others.add(workload["host"])
        else:
            others |= mine | {workload[end] for end in ("from", "to") if end in workload}
    return len(plan["network"]["hosts"]) - len(clients - others)


def stops(plan: Mapping[str, Any]) -> dict[int, float]:
    """When the timeline stops workloads, in seconds of the run, by their numbers."""
    return {
        change["workload"]: change["at_ns"] / 1e9
        for change in plan["timeline"]
        if change["kind"] == "stop"
    }


def expected_s(plan: Mapping[str, Any]) -> float:
    """How long a run is expected to last, in seconds: at most until its horizon.

    A plan of swarms alone is over when every leecher can have the file, by what all peers together
    may upload, or when the timeline stops them, and one of transfers when the last of them stops or
    its way can have carried it; a plan whose peers or transfers have no limit at all, and that
    nothing stops, may last to its horizon for all that is known. A content server is done when the
    last client that comes has its file, by the rate of its line.
    """
    horizon_s: float = plan["stop"]["horizon_ns"] / 1e9
    stops_s = stops(plan)
    needed = 0.0
    for index, workload in enumerate(plan["workloads"]):
        if workload["kind"] in ("ping", "call", "web"):
            continue  # it ends with the others
        stop_s = stops_s.get(index, horizon_s)
        if workload["kind"] == "origin":
            needed = max(needed, min(visit.expected_s(plan, json.dumps(plan), index), stop_s))
            continue
        if workload["kind"] == "transfer":
            needed = max(needed, min(_transfer_s(plan, workload), stop_s))
            continue
        rates = [
            (population["role"], _upload_bps(plan, population, host))
            for population in workload["populations"]
            for host in population["hosts"]
        ]
        if any(rate is None for _, rate in rates):
            needed = max(needed, stop_s)
            continue
        wanted = workload["size_bytes"] * 8 * sum(role == "leecher" for role, _ in rates)
        offered = sum(rate or 0 for _, rate in rates)
        needed = max(needed, min(wanted / max(offered, 1), stop_s))
    return min(horizon_s, needed) if needed else horizon_s


def _transfer_s(plan: Mapping[str, Any], transfer: Mapping[str, Any]) -> float:
    """When a transfer stops, or its way can have carried it; infinite if nothing says."""
    if transfer["stop_ns"] is not None:
        return transfer["stop_ns"] / 1e9
    rates = [most_bps(plan, transfer["from"], transfer["to"])]
    if transfer["rate_bps"] is not None:
        rates.append(transfer["flows"] * transfer["rate_bps"])
    rate = min((it for it in rates if it is not None), default=None)
    if transfer["size_bytes"] is None or not rate:
        return math.inf
    starts_s: float = (transfer["start_ns"] + transfer["spread_ns"]) / 1e9
    return starts_s + transfer["flows"] * transfer["size_bytes"] * 8 / rate


def _upload_bps(plan: Mapping[str, Any], population: Mapping[str, Any], host: int) -> int | None:
    """The least of a peer's upload limit and its line; None if neither has a rate."""
    network = plan["network"]
    up = [network["links"][it]["conditions"]["rate_bps"] for it in network["hosts"][host]["up"]]
    rates = [rate for rate in (population.get("upload_bps"), *up) if rate is not None]
    return min(rates, default=None)
