"""How far shares of a run are, and when the run as a whole is over: as one that is not divided."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from flashcrowd import _core
from flashcrowd.plan.parts import numbered
from flashcrowd.plan.types import Plan, SwarmWorkload


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
        swarms: how far its part of each is, by index of the workload, for `_core.SwarmWatch`.
    """

    t_s: float = 0.0
    failure: str = ""
    finite: int = 0
    ended: int = 0
    unfinished: list[str] = field(default_factory=list)
    part: float = 0.0
    swarms: Mapping[int, str] = field(default_factory=dict)

    def told(self) -> dict[str, Any]:
        """As plain values."""
        return asdict(self)

    @classmethod
    def heard(cls, values: Mapping[str, Any]) -> Standing:
        """From plain values."""
        swarms = {int(index): part for index, part in values["swarms"].items()}
        return cls(**{**values, "swarms": swarms})


class Judge:
    """Sees how far all nodes are, and says when the run is over.

    Attributes:
        standings: what each node said last.
    """

    def __init__(self, plan: Plan, nodes: int) -> None:
        self._horizon_s = plan["stop"]["horizon_ns"] / 1e9
        self.standings = [Standing()] * nodes
        self._silent = set(range(nodes))
        parsed = _core.Plan(json.dumps(plan))
        self._watches = {
            index: _core.SwarmWatch(parsed, index) for index, _ in numbered(plan, SwarmWorkload)
        }

    @property
    def part(self) -> float:
        """How far the run is: as far as the node that is furthest behind."""
        return min(standing.part for standing in self.standings)

    def _parts(self, index: int) -> list[str]:
        """What each node says of a swarm."""
        return [it.swarms[index] for it in self.standings if index in it.swarms]

    def missing(self, node: int) -> dict[int, bool]:
        """In which swarms somebody lacks something whom another node than this one plays."""
        others = [it for number, it in enumerate(self.standings) if number != node]
        found: dict[int, bool] = {}
        for standing in others:
            for index, part in standing.swarms.items():
                found[index] = found.get(index, False) or _core.swarm_waits(part)
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
        swarms = {index: self._parts(index) for index in self._watches}
        for index, parts in swarms.items():
            if stalled := self._watches[index].stall(standing.t_s, parts):
                return "stalled", stalled
        finite = sum(it.finite for it in self.standings)
        ended = sum(it.ended for it in self.standings)
        over = all(self._watches[index].is_done(parts) for index, parts in swarms.items())
        if (finite or swarms) and ended == finite and over:
            stopped = (self._watches[index].stopped(parts) for index, parts in swarms.items())
            outcome = _core.finished_outcome(next(filter(None, stopped), None))
        elif all(it.t_s >= self._horizon_s for it in self.standings):
            outcome = _core.horizon_outcome(list(self._unfinished(swarms)))
        else:
            return None
        name, reason = outcome
        said = (self._watches[index].undelivered(standing.t_s, it) for index, it in swarms.items())
        lines = [line for line in said if line and name != "horizon"]
        return _core.with_undelivered(name, reason, lines)

    def _unfinished(self, swarms: Mapping[int, list[str]]) -> Iterator[str]:
        for standing in self.standings:
            yield from standing.unfinished
        for index, parts in swarms.items():
            if not self._watches[index].is_done(parts):
                yield self._watches[index].unfinished(parts)
