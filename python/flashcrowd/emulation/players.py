"""The programs that can play the flows of a transfer, by the names that studies use."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from flashcrowd._core import Plan
from flashcrowd.clients import PROGRAMS
from flashcrowd.clients.client import Found
from flashcrowd.emulation.bottleneck import most_bytes
from flashcrowd.emulation.flow import Flow, FlowJob
from flashcrowd.plan.parts import workload, workloads
from flashcrowd.plan.place import study_place
from flashcrowd.plan.types import TransferWorkload

KERNEL = "kernel"
"""This kernel's TCP."""
LIVE = "live"
"""The uTP program of a transfer that names none: flashcrowd's own, on UDP sockets."""


@dataclass(frozen=True)
class Player:
    """One program.

    Attributes:
        name: as a study names it.
        module: the module that knows how it plays a flow.
        kind: the class in it.
        limits: whether an application's limit can be set.
        shares: whether it shares a file, so that something must say how long that is.
    """

    name: str
    module: str
    kind: str
    limits: bool = True
    shares: bool = False

    def flow(self, job: FlowJob) -> Flow:
        """One of its flows."""
        return getattr(importlib.import_module(self.module), self.kind)(job)

    def found(self) -> Found | None:
        """Where it is, if this machine has it and others make it."""
        if self.name in PROGRAMS:
            return PROGRAMS[self.name].found()
        return importlib.import_module(self.module).found() if self.name not in OURS else None

    @property
    def remedy(self) -> str:
        """How to get it."""
        if self.name in PROGRAMS:
            return PROGRAMS[self.name].remedy
        return importlib.import_module(self.module).REMEDY


_HERE = "flashcrowd.emulation"
PLAYERS: Mapping[str, Player] = {
    player.name: player
    for player in (
        Player(KERNEL, f"{_HERE}.tcp_flow", "TcpFlow"),
        Player(LIVE, f"{_HERE}.live_flow", "LiveFlow"),
        Player(
            "libtorrent", f"{_HERE}.libtorrent_flow", "LibtorrentFlow", limits=False, shares=True
        ),
        Player("libutp", f"{_HERE}.libutp_flow", "LibutpFlow", limits=False),
    )
}
OURS = (KERNEL, LIVE)
"""Those that are there wherever flashcrowd is."""


def player(transfer: TransferWorkload) -> Player:
    """The program of a plan's transfer."""
    if "utp" not in (transfer["transport"] or {}):
        return PLAYERS[KERNEL]
    return PLAYERS[transfer.get("program") or LIVE]


def refusals(plan: Plan, index: int) -> Iterator[str]:
    """Why the program of a transfer cannot play it, with what would make it possible."""
    transfer = workload(plan, index, TransferWorkload)
    where = study_place("workloads", transfer)
    named = transfer.get("program")
    if named is not None and named not in PLAYERS:
        yield f"{where}: program {named!r} is none of {', '.join(PLAYERS)}"
        return
    chosen = player(transfer)
    if named is not None and chosen.name == KERNEL:
        yield f"{where}: {named} plays uTP; TCP is the kernel's: leave out program, or give it uTP"
    changed = any(
        change["kind"] == "transfer-rate" and change["workload"] == index
        for change in plan.timeline
    )
    if not chosen.limits and (transfer["rate_bps"] is not None or changed):
        remedy = f'leave out limit, or take program = "{LIVE}"'
        yield f"{where}: {chosen.name} sends as fast as it can; {remedy}"
    if chosen.shares and most_bytes(plan, transfer) is None:
        remedy = "no link says how long it must be; give it a size"
        yield f"{where}: {chosen.name} shares a file, and {remedy}"


def space(plan: Plan) -> int:
    """Bytes that the programs of a plan's transfers may write."""
    sharing = (it for it in workloads(plan, TransferWorkload) if player(it).shares)
    return sum(2 * it["flows"] * (most_bytes(plan, it) or 0) for it in sharing)


def missing(plan: Plan) -> Iterator[str]:
    """The programs of a plan's transfers that this machine does not have, with the remedy."""
    for transfer in workloads(plan, TransferWorkload):
        if transfer["flows"]:
            chosen = player(transfer)
            if chosen.name not in OURS and chosen.found() is None:
                where = study_place("workloads", transfer)
                yield f"{where}: {chosen.name} is not installed; {chosen.remedy}"
