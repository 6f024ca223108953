"""How far shares of a run are, and when the run as a whole is over: as one that is not divided."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from flashcrowd.clients.completion import SwarmStanding, Watch
from flashcrowd.undelivered import UNDELIVERED, may_upload


@dataclass(frozen=True)
class Standing:
    """What one node knows of a run.

    Attributes:
        t_s: seconds of the run.
        failure: why it cannot go on; empty while it can.
        finite: flows that can end.
        ended: those that have.
        unfinished: flows with a size that have not, in words.
        part: how far it is, 0 to 1.
        swarms: by index of the workload.
    """

    t_s: float = 0.0
    failure: str = ""
    finite: int = 0
    ended: int = 0
    unfinished: list[str] = field(default_factory=list)
    part: float = 0.0
    swarms: Mapping[int, SwarmStanding] = field(default_factory=dict)

    def told(self) -> dict[str, Any]:
        """As plain values."""
        return asdict(self)

    @classmethod
    def heard(cls, values: Mapping[str, Any]) -> Standing:
        """From plain values."""
        swarms = {int(index): SwarmStanding(**it) for index, it in values["swarms"].items()}
        return cls(**{**values, "swarms": swarms})


class Judge:
    """Sees how far all nodes are, and says when the run is over.

    Attributes:
        standings: what each node said last.
    """

    def __init__(self, plan: Mapping[str, Any], nodes: int) -> None:
        self._plan = plan
        self._horizon_s = plan["stop"]["horizon_ns"] / 1e9
        self._stall_s = plan["stop"]["stall_ns"] / 1e9
        self.standings = [Standing()] * nodes
        self._silent = set(range(nodes))
        self._watches: dict[int, Watch] = {}

    @property
    def part(self) -> float:
        """How far the run is: as far as the node that is furthest behind."""
        return min(standing.part for standing in self.standings)

    def swarms(self) -> dict[int, SwarmStanding]:
        """What is known of each swarm on all nodes together."""
        indexes = sorted({index for standing in self.standings for index in standing.swarms})
        return {index: self._together(index) for index in indexes}

    def _together(self, index: int) -> SwarmStanding:
        known = [it.swarms[index] for it in self.standings if index in it.swarms]
        return SwarmStanding.together(known)

    def missing(self, node: int) -> dict[int, bool]:
        """In which swarms somebody lacks something whom another node than this one plays."""
        others = [it for number, it in enumerate(self.standings) if number != node]
        found: dict[int, bool] = {}
        for standing in others:
            for index, swarm in standing.swarms.items():
                found[index] = found.get(index, False) or swarm.missing
        return found

    def hear(self, node: int, standing: Standing) -> tuple[str, str] | None:
        """A node says how far it is; the outcome of the run and the reason, if it is over."""
        self.standings = [
            standing if number == node else it for number, it in enumerate(self.standings)
        ]
        for number, it in enumerate(self.standings):
            if it.failure:
                return "failed", f"node {number}: {it.failure}"
        self._silent.discard(node)
        if self._silent:
            return None
        swarms = self.swarms()
        for index, swarm in swarms.items():
            watch = self._watches.setdefault(index, Watch(self._spec(index), self._stall_s))
            if outcome := watch.outcome(swarm, standing.t_s):
                return "stalled", outcome
        finite = sum(it.finite for it in self.standings)
        ended = sum(it.ended for it in self.standings)
        over = all(swarm.is_done(self._spec(index)) for index, swarm in swarms.items())
        if (finite or swarms) and ended == finite and over:
            return self._stopped(swarms)
        if all(it.t_s >= self._horizon_s for it in self.standings):
            unfinished = [*self._unfinished(swarms)]
            return ("horizon", "; ".join(unfinished)) if unfinished else ("completed", "")
        return None

    def _spec(self, index: int) -> Mapping[str, Any]:
        return self._plan["workloads"][index]

    def _stopped(self, swarms: Mapping[int, SwarmStanding]) -> tuple[str, str]:
        for index, swarm in swarms.items():
            nothing = not (swarm.down or swarm.completed)
            if swarm.stopped and nothing and may_upload(self._spec(index)):
                name, leechers = self._spec(index)["name"], swarm.leechers
                return UNDELIVERED, f"swarm {name}: no block arrived at {leechers} leechers"
            if swarm.stopped and swarm.completed < swarm.leechers:
                return "stopped", f"the timeline stopped a swarm with {swarm.words}"
        return "completed", ""

    def _unfinished(self, swarms: Mapping[int, SwarmStanding]) -> Iterator[str]:
        for standing in self.standings:
            yield from standing.unfinished
        for index, swarm in swarms.items():
            if not swarm.is_done(self._spec(index)):
                yield f"swarm {self._spec(index)['name']}: {swarm.words}"
