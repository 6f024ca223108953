"""How far shares of a run are, and when the run as a whole is over: as one that is not divided."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from flashcrowd import _core
from flashcrowd.emulation.messages import Standing
from flashcrowd.plan.parts import numbered
from flashcrowd.plan.types import Plan, SwarmWorkload


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
            spec["name"]: _core.SwarmWatch(parsed, index)
            for index, spec in numbered(plan, SwarmWorkload)
        }

    @property
    def part(self) -> float:
        """How far the run is: as far as the node that is furthest behind."""
        return min(standing.part for standing in self.standings)

    def _parts(self, swarm: str) -> list[str]:
        """What each node says of a swarm."""
        return [it.swarms[swarm] for it in self.standings if swarm in it.swarms]

    def missing(self, node: int) -> dict[str, bool]:
        """In which swarms somebody lacks something whom another node than this one plays."""
        found: dict[str, bool] = {}
        for number, standing in enumerate(self.standings):
            if number != node:
                for swarm, part in standing.swarms.items():
                    found[swarm] = found.get(swarm, False) or _core.swarm_waits(part)
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
        swarms = {swarm: self._parts(swarm) for swarm in self._watches}
        for swarm, parts in swarms.items():
            if stalled := self._watches[swarm].stall(standing.t_s, parts):
                return "stalled", stalled
        finite = sum(it.finite for it in self.standings)
        ended = sum(it.ended for it in self.standings)
        over = all(self._watches[swarm].is_done(parts) for swarm, parts in swarms.items())
        if (finite or swarms) and ended == finite and over:
            stopped = (self._watches[swarm].stopped(parts) for swarm, parts in swarms.items())
            outcome = _core.finished_outcome(next(filter(None, stopped), None))
        elif all(it.t_s >= self._horizon_s for it in self.standings):
            outcome = _core.horizon_outcome(list(self._unfinished(swarms)))
        else:
            return None
        name, reason = outcome
        said = (self._watches[swarm].undelivered(standing.t_s, it) for swarm, it in swarms.items())
        lines = [line for line in said if line and name != "horizon"]
        return _core.with_undelivered(name, reason, lines)

    def _unfinished(self, swarms: Mapping[str, list[str]]) -> Iterator[str]:
        for standing in self.standings:
            yield from standing.unfinished
        for swarm, parts in swarms.items():
            if not self._watches[swarm].is_done(parts):
                yield self._watches[swarm].unfinished(parts)
