"""The programs that can play a peer, by the names that studies use."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol, cast

from flashcrowd._core import Plan
from flashcrowd.clients import descriptors, opentracker, settings
from flashcrowd.clients.client import Client, Found, Job
from flashcrowd.plan.parts import workload, workloads
from flashcrowd.plan.types import ControlledUpload, Population, SwarmWorkload, TransferWorkload

DEFAULT = "libtorrent"
"""The program of a population that names none."""


class _Module(Protocol):
    TRANSPORTS: tuple[settings.Transport, ...]
    ZERO_UPLOAD: bool

    def found(self) -> Found | None: ...


@dataclass(frozen=True)
class Program:
    """One program.

    Attributes:
        name: as a study names it.
        module: the module that knows it.
        kind: the class in it.
        remedy: how to get it.
        each_bytes: memory of one client of it at work: its own, without what all have together.
        once_bytes: what all of them have together: pages of the program and its libraries.
    """

    name: str
    module: str
    kind: str
    remedy: str
    each_bytes: int
    once_bytes: int = 0

    def _load(self) -> _Module:
        return cast("_Module", importlib.import_module(self.module))

    def found(self) -> Found | None:
        """Where it is, if this machine has it."""
        return self._load().found()

    @property
    def transports(self) -> tuple[settings.Transport, ...]:
        """The transports that its connections can have."""
        return self._load().TRANSPORTS

    @property
    def own_controls(self) -> Mapping[str, int]:
        """The upload controllers of a plan that it has by itself."""
        return getattr(self._load(), "OWN_CONTROLS", {})

    def client(self, job: Job) -> Client:
        """Start it for a job.

        Raises:
            ClientFailed: it cannot be started.
        """
        return getattr(self._load(), self.kind)(job)

    def refusals(self, asked: settings.Settings) -> Iterator[str]:
        """Why it cannot play a peer with these settings."""
        module = self._load()
        if asked.transport not in module.TRANSPORTS:
            offered = " or ".join(module.TRANSPORTS)
            yield (
                f"{self.name} opens its connections over {offered}, not over {asked.transport}; "
                "choose another program, or transport"
            )
        if asked.upload == 0 and not module.ZERO_UPLOAD:
            yield (
                f"{self.name} cannot be told to upload nothing; choose another program, or allow a "
                "little"
            )


_HERE = "flashcrowd.clients"
# The sizes were measured: twelve clients and a seed, 16 MB, all connected with each other, uploads
# of 200 kB/s, profile `libtorrent`. Each has the most of `Pss_Anon` (/proc/PID/smaps_rollup) that
# any one client was seen with, every 12 s, and a tenth more; all have together what of an idle
# client's `Rss` is not its own. Of libtorrent it is what the process with all sessions grew by, for
# each: 3.9 MB, and of forty with 30 neighbours 4.3 MB. So it is of mainline-4.0.2: 2.0 MB. Pages of
# the shared file are not in it, as the kernel drops them when it needs to. docs/programs.md has the
# table.
PROGRAMS: Mapping[str, Program] = {
    program.name: program
    for program in (
        Program(
            "libtorrent",
            f"{_HERE}.libtorrent",
            "Libtorrent",
            "pip install libtorrent, with Python 3.11 to 3.13",
            each_bytes=5_000_000,
        ),
        Program(
            "mainline-4.0.2",
            f"{_HERE}.mainline",
            "Mainline",
            "it comes with flashcrowd on Linux",
            each_bytes=2_200_000,
        ),
        Program(
            "transmission",
            f"{_HERE}.transmission",
            "Transmission",
            "apt install transmission-daemon",
            each_bytes=17_000_000,
            once_bytes=10_000_000,
        ),
        Program(
            "qbittorrent",
            f"{_HERE}.qbittorrent",
            "QBittorrent",
            "apt install qbittorrent-nox",
            each_bytes=8_000_000,
            once_bytes=25_000_000,
        ),
        Program(
            "aria2",
            f"{_HERE}.aria2",
            "Aria2",
            "apt install aria2",
            each_bytes=9_000_000,
            once_bytes=13_000_000,
        ),
        Program(
            "rtorrent",
            f"{_HERE}.rtorrent",
            "RTorrent",
            "apt install rtorrent",
            each_bytes=4_000_000,
            once_bytes=14_000_000,
        ),
        Program(
            "biglybt",
            f"{_HERE}.biglybt",
            "BiglyBT",
            "apt install biglybt",
            each_bytes=173_000_000,
            once_bytes=22_000_000,
        ),
    )
}


def found() -> dict[str, Found | None]:
    """Every program and tracker by its name, and what there is of it on this machine."""
    clients = {name: program.found() for name, program in PROGRAMS.items()}
    return {**clients, opentracker.NAME: opentracker.found()}


def own_control(population: Population) -> ControlledUpload | None:
    """The upload controller of a population, if its program is to use one that it has itself."""
    control = population.get("upload_control")
    if control is None:
        return None
    program = PROGRAMS.get(population.get("program") or DEFAULT)
    has = program is not None and control["controller"]["kind"] in program.own_controls
    return control if has else None


def memory(plan: Plan) -> int:
    """Bytes that the clients of a plan are expected to have, all of them at work.

    Those that follow others on a host come when these have gone. A flow of libtorrent's uTP has a
    session on each of its hosts.
    """
    peers: dict[str, int] = {}
    for transfer in workloads(plan, TransferWorkload):
        if transfer.get("program") == DEFAULT:
            peers[DEFAULT] = peers.get(DEFAULT, 0) + 2 * transfer["flows"]
    for swarm in workloads(plan, SwarmWorkload):
        for population in swarm["populations"]:
            name = population.get("program") or DEFAULT
            peers[name] = peers.get(name, 0) + len(population["hosts"])
    known = [(PROGRAMS[name], count) for name, count in peers.items() if name in PROGRAMS and count]
    return sum(it.once_bytes + count * it.each_bytes for it, count in known)


def refusals(plan: Plan, index: int) -> list[str]:
    """Why the programs of this machine cannot play a swarm of a plan; nothing if they can.

    Each names the place and what would make it possible.
    """
    swarm = workload(plan, index, SwarmWorkload)
    reasons = []
    for population in swarm["populations"]:
        place = f"workloads.{swarm['name']}.populations.{population['name']}"
        name = population.get("program") or DEFAULT
        program = PROGRAMS.get(name)
        if program is None:
            reasons.append(f"{place}.program: {name!r} is none of {', '.join(PROGRAMS)}")
            continue
        if program.found() is None:
            reasons.append(f"{place}.program: {name} is not installed; {program.remedy}")
            continue
        try:
            asked = settings.of(plan, population)
        except ValueError as error:
            reasons.append(f"{place}: {error}")
            continue
        reasons += [f"{place}: {reason}" for reason in program.refusals(asked)]
    if swarm["tracker"].get("program") == opentracker.NAME and (why := opentracker.why_not()):
        reasons.append(f"workloads.{swarm['name']}.tracker.program: {why}")
    crowded = descriptors.refusal(plan, index)
    if crowded is not None:
        reasons.append(crowded)
    if swarm["block_bytes"] != settings.BLOCK:
        reasons.append(
            f"workloads.{swarm['name']}.block: programs ask for {settings.BLOCK} B at a time, "
            f"not {swarm['block_bytes']}"
        )
    return reasons
