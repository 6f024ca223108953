"""One peer of a swarm: its rules, its client, and its outcome."""

from __future__ import annotations

from flashcrowd import _core
from flashcrowd.clients.client import Client, Progress
from flashcrowd.clients.controller import Controller, Own
from flashcrowd.clients.host_sandbox import HostSandbox
from flashcrowd.plan.types import Population


class Peer:
    """One peer. Instants are seconds from the start of the run; None for what has not happened.

    Attributes:
        number: among the peers of all swarms as planned, replacements after.
        population: number of its population.
        spec: its population in the plan.
        host: index of its host.
        place: where it runs.
        is_leecher: whether it came without the file.
        client: what plays it; None before.
        closed: whether its client is gone, and its place free again.
        controller: what sets its client's upload limit; None without one, and until it is started.
        timeouts: retransmission timeouts of its host's kernel before and at the end.
        pieces_told: how many of its client's pieces the rules have heard of.
    """

    def __init__(
        self,
        rules: _core.SwarmRules,
        seen: _core.SwarmPeer,
        spec: Population,
        place: HostSandbox,
    ) -> None:
        self._rules = rules
        self.number, self.population, self.host = seen.number, seen.population, seen.host
        self.is_leecher = seen.is_leecher
        self.spec, self.place = spec, place
        self.client: Client | None = None
        self.closed = False
        self.controller: Controller | Own | None = None
        self.timeouts_before = self.timeouts = self.pieces_told = 0

    @property
    def member(self) -> int | None:
        """Its number in the swarm, in the order of arrival; None before."""
        return self._rules.peer(self.number).member

    @property
    def arrived(self) -> float | None:
        """When it came."""
        return self._rules.peer(self.number).arrived_s

    @property
    def completed(self) -> float | None:
        """When it had the file, of a leecher."""
        return self._rules.peer(self.number).completed_s

    @property
    def left(self) -> float | None:
        """When it left."""
        return self._rules.peer(self.number).left_s

    @property
    def has_come(self) -> bool:
        """Whether it has come."""
        return self.arrived is not None

    @property
    def is_online(self) -> bool:
        """Whether it has come and has not left."""
        return self.has_come and self.left is None

    @property
    def progress(self) -> Progress:
        """The last report of its client."""
        return self.client.progress if self.client is not None else Progress(0.0)
