"""One peer of a swarm: what was planned for it, its client, and what came of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from flashcrowd.clients.client import Client, Progress
from flashcrowd.clients.controller import Controller
from flashcrowd.clients.place import Place


@dataclass
class Spent:
    """What a peer spent its time on, in seconds, from samples."""

    online: float = 0.0
    alone: float = 0.0
    uninterested: float = 0.0
    choked: float = 0.0
    unchoked: float = 0.0
    unknown: float = 0.0
    """Online and incomplete, while the program did not tell what it waited for."""
    needed: float = 0.0

    @property
    def downloading(self) -> float:
        """Online without the whole file."""
        return self.alone + self.uninterested + self.choked + self.unchoked + self.unknown


@dataclass
class Peer:
    """One peer. Instants are seconds from the start of the run; None for what has not happened.

    Attributes:
        number: among the peers of all swarms as planned, replacements after.
        population: number of its population.
        spec: its population in the plan.
        host: index of its host.
        place: where it runs.
        role: `seed` or `leecher`, as it came.
        member: its number in the swarm, in the order of arrival; None before.
        overdue: whether it should have left by now, and has not come yet: its client is late.
        closed: whether its client is gone, and its place free again.
        controller: what sets its client's upload limit; None without one, and until it is started.
        timeouts: retransmission timeouts of its host's kernel before and at the end.
    """

    number: int
    population: int
    spec: Mapping[str, Any]
    host: int
    place: Place
    role: str
    client: Client | None = None
    member: int | None = None
    arrived: float | None = None
    completed: float | None = None
    left: float | None = None
    overdue: bool = False
    closed: bool = False
    spent: Spent = field(default_factory=Spent)
    controller: Controller | None = None
    timeouts_before: int = 0
    timeouts: int = 0

    @property
    def is_leecher(self) -> bool:
        """Whether it came without the file."""
        return self.role == "leecher"

    @property
    def is_online(self) -> bool:
        """Whether it has come and has not left."""
        return self.arrived is not None and self.left is None

    @property
    def is_missing(self) -> bool:
        """Whether it is online and lacks something."""
        return self.is_online and self.is_leecher and self.completed is None

    @property
    def is_source(self) -> bool:
        """Whether it has the whole file and is there, still closes, or is a seed to come."""
        return not self.closed and (not self.is_leecher or self.completed is not None)

    @property
    def progress(self) -> Progress:
        """What its client said last."""
        return self.client.progress if self.client is not None else Progress(0.0)

    def spend(self, seconds: float, needed: bool) -> None:
        """It goes on for a while as it stands."""
        spent, progress = self.spent, self.progress
        spent.online += seconds
        if needed:
            spent.needed += seconds
        if not self.is_missing:
            return
        if progress.interested is None or progress.unchoking is None:
            spent.unknown += seconds
        elif not progress.neighbours:
            spent.alone += seconds
        elif not progress.interested:
            spent.uninterested += seconds
        elif not progress.unchoking:
            spent.choked += seconds
        else:
            spent.unchoked += seconds
