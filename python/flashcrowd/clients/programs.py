"""The programs that can play a peer, by the names that studies use."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, cast

from flashcrowd.clients import descriptors, opentracker, settings
from flashcrowd.clients.client import Client, Found, Job

DEFAULT = "libtorrent"
"""What plays the peers of a population that names no program."""


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
    """

    name: str
    module: str
    kind: str
    remedy: str

    def _load(self) -> _Module:
        return cast("_Module", importlib.import_module(self.module))

    def found(self) -> Found | None:
        """Where it is, if this machine has it."""
        return self._load().found()

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
            yield f"{self.name} opens its connections over {offered}, not over {asked.transport}"
        if asked.upload == 0 and not module.ZERO_UPLOAD:
            yield f"{self.name} cannot be told to upload nothing"


_HERE = "flashcrowd.clients"
PROGRAMS: Mapping[str, Program] = {
    program.name: program
    for program in (
        Program(
            "libtorrent",
            f"{_HERE}.libtorrent",
            "Libtorrent",
            "pip install 'flashcrowd[emulation]', with Python 3.11 to 3.13",
        ),
        Program(
            "transmission",
            f"{_HERE}.transmission",
            "Transmission",
            "apt install transmission-daemon",
        ),
        Program(
            "qbittorrent", f"{_HERE}.qbittorrent", "QBittorrent", "apt install qbittorrent-nox"
        ),
        Program("aria2", f"{_HERE}.aria2", "Aria2", "apt install aria2"),
        Program("rtorrent", f"{_HERE}.rtorrent", "RTorrent", "apt install rtorrent"),
    )
}


def found() -> dict[str, Found | None]:
    """Every program and tracker by its name, and what there is of it on this machine."""
    clients = {name: program.found() for name, program in PROGRAMS.items()}
    return {**clients, opentracker.NAME: opentracker.found()}


def refusals(plan: Mapping[str, Any], workload: int) -> list[str]:
    """Why the programs of this machine cannot play a swarm of a plan; nothing if they can.

    Each names the place and what would make it possible.
    """
    swarm = plan["workloads"][workload]
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
    crowded = descriptors.refusal(plan, workload)
    if crowded is not None:
        reasons.append(crowded)
    if swarm["block_bytes"] != settings.BLOCK:
        reasons.append(
            f"workloads.{swarm['name']}.block: programs ask for {settings.BLOCK} B at a time, "
            f"not {swarm['block_bytes']}"
        )
    return reasons
