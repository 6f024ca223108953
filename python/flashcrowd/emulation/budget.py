"""Runs side by side must not disturb each other: a budget of packets, and free processors."""

from __future__ import annotations

import itertools
import math
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol

from flashcrowd import _core
from flashcrowd._core import Plan
from flashcrowd.base.cores import cores
from flashcrowd.base.errors import Cancelled
from flashcrowd.base.need import Need
from flashcrowd.content_server import visit
from flashcrowd.emulation.processors import Processors
from flashcrowd.plan.parts import hosts_of, numbered, workloads
from flashcrowd.plan.types import OriginWorkload, SwarmWorkload

PACKETS_PER_CORE = 25_000
"""Packets per second that a core carries without a visible effect: 20 us each for both kernels'
stacks, the emulator and the programs, at half of its time.
"""
IDLE_HOST = 100
"""The load of a host whose client waits, in packets per second: 20 libtorrent peers at 20 kB/s took
5 % of a core (2 of them for packets), on a machine with other work.
"""
_PACKET_BYTES = 1448
_WITH_ACKS = 1.5
"""Packets per data segment: one acknowledgement for every second segment."""
_PEER_BYTES = 100_000
_PEER_PACKETS = _PEER_BYTES / _PACKET_BYTES * _WITH_ACKS
"""Packets per second of a peer that uploads and downloads 100 kB/s."""
FREE = 0.3
"""The share of the processors' time that has to be free before one more run begins. A run takes
most at its start, and the work of its clients besides packets is not predicted: 16 runs of six
clients that fitted by their packets, and began together, took all of two cores for minutes.
"""
_LOOK_S = 0.1
MOST_PER_CORE = 4
"""Runs at a time, by default: a prediction leaves out the load of starts and ends."""


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
    """The free part of this machine."""

    def __init__(self) -> None:
        self.condition = threading.Condition()
        self.used = 0.0
        self.runs = 0
        self.taken = set[int]()
        self.processors: Processors | None = None

    def room(self) -> bool:
        """Whether the processors have time for one more, as far as the last one's start shows."""
        if self.processors is None:
            return True
        free = self.processors.free()
        return free is not None and free >= FREE

    def begin(self, packets_per_s: float, apart: bool) -> int | None:
        """One more run goes on; the processor of its emulator, if that is to stay on one."""
        self.used += packets_per_s
        self.runs += 1
        if self.processors is None:
            self.processors = Processors()
        self.processors.restart()
        if not apart:
            return None
        own = next(it for it in itertools.count() if it not in self.taken)
        self.taken.add(own)
        return own

    def end(self, packets_per_s: float, processor: int | None) -> None:
        """A run is over, which had this processor for its emulator."""
        self.used -= packets_per_s
        self.taken.discard(-1 if processor is None else processor)
        self.runs -= 1
        self.condition.notify_all()


_BUDGET = _Budget()


@contextmanager
def share(
    packets_per_s: float, hosts: int, handle: _Cancellable, apart: bool = False
) -> Iterator[int | None]:
    """Wait until a run with this many packets per second fits beside those under way.

    That is also when there is processor time for it. One alone always fits. It may get the number
    of a processor on which its emulator is to stay, so that the others do the work of receiving
    packets, see `steered`.

    Args:
        packets_per_s: what it is expected to send when it sends most.
        hosts: how many it has.
        handle: ends the waiting.
        apart: whether its emulator is to have a processor of its own, see `steered`.

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
        processor = budget.begin(packets_per_s, apart)
    try:
        yield processor
    finally:
        with budget.condition:
            budget.end(packets_per_s, processor)


def steered(plan: Plan, packets_per_s: float) -> bool:
    """Whether the emulator of a run is to stay on one processor, while hosts receive on others.

    That is where one core does not carry its packets, and programs leave the others room. Clients
    of swarms do not: 400 of libtorrent waited three times as long for a processor, and were a sixth
    slower, though seconds with late packets fell from 147 to 20.

    Args:
        plan: the plan.
        packets_per_s: what it is expected to send when it sends most.
    """
    crowded = any(workloads(plan, SwarmWorkload))
    return packets_per_s > PACKETS_PER_CORE and cores() > 1 and not crowded


def busiest(plan: Plan, seed: int, mean: float) -> float:
    """Packets per second that a run sends when it sends most, as far as that can be foretold.

    A crowd before a content server comes and goes: four runs with 6,000 packets/s each, and
    25,000 when most clients were there, took two cores together, and their disks came late by
    half a second.

    Args:
        plan: the plan.
        seed: the run's.
        mean: packets per second that it is expected to send in the mean.
    """
    crowds = [
        visit.busiest_bps(plan, seed, index) / 8 / _PACKET_BYTES * _WITH_ACKS
        for index, _ in numbered(plan, OriginWorkload)
    ]
    return max(mean, *(it for it in crowds if math.isfinite(it)), 0.0)


def waiting_hosts(plan: Plan) -> int:
    """The hosts on which programs may be while they wait: all but those that only download.

    A content server's client is there while it downloads, and nothing is before and after.
    """
    clients, others = set[int](), set[int]()
    for workload in plan.workloads:
        if workload["kind"] == "origin":
            clients |= hosts_of(workload)
            others.add(workload["host"])
        else:
            others |= hosts_of(workload)
    return len(plan.network["hosts"]) - len(clients - others)
