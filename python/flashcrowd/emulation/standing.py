"""How far shares of a run are, and when the run as a whole is over: as one that is not divided."""

from __future__ import annotations

import math
from collections.abc import Iterator

from flashcrowd import _core
from flashcrowd._core import Plan
from flashcrowd.base.undelivered import CUT
from flashcrowd.emulation.messages import Standing
from flashcrowd.plan.parts import numbered
from flashcrowd.plan.types import SwarmWorkload


class Judge:
    """Sees how far all nodes are, and says when the run is over.

    Attributes:
        standings: what each node said last.
    """

    def __init__(self, plan: Plan, nodes: int) -> None:
        self._horizon_s = plan.stop["horizon_ns"] / 1e9
        self.standings = [Standing()] * nodes
        self._silent = set(range(nodes))
        self._watches = {
            spec["name"]: _core.SwarmWatch(plan, index)
            for index, spec in numbered(plan, SwarmWorkload)
        }

    @property
    def part(self) -> float:
        """How far the run is: as far as the node that is furthest behind."""
        return min(standing.part for standing in self.standings)

    def _parts(self, swarm: str) -> list[str]:
        """Each node's part of a swarm."""
        return [it.swarms[swarm] for it in self.standings if swarm in it.swarms]

    def missing(self, node: int) -> dict[str, bool]:
        """In which swarms a peer of another node than this one lacks pieces."""
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
        self._silent.discard(node)
        if self._silent and not self.failed():
            return None
        there = all(it.t_s >= self._horizon_s for it in self.standings)
        horizon_s = self._horizon_s if there else math.inf
        end = _core.run_ending(self, standing.t_s, horizon_s, ended=True)
        if end is None:
            return None
        name, reason = end
        said = (watch.undelivered(standing.t_s, it) for watch, it in self._swarms())
        lines = [] if name in CUT else [line for line in said if line]
        return _core.with_undelivered(name, reason, lines)

    def _swarms(self) -> Iterator[tuple[_core.SwarmWatch, list[str]]]:
        """What each node says of each swarm."""
        return ((watch, self._parts(swarm)) for swarm, watch in self._watches.items())

    def failed(self) -> str | None:
        """Why the run cannot go on, and on which node."""
        each = enumerate(self.standings)
        return next((f"node {number}: {it.failure}" for number, it in each if it.failure), None)

    def stalled(self, now_s: float) -> str | None:
        """Why a swarm gets no further, if one does not."""
        return next(filter(None, (watch.stall(now_s, it) for watch, it in self._swarms())), None)

    def is_finite(self) -> bool:
        """Whether something can finish."""
        return bool(self._watches) or any(it.finite for it in self.standings)

    def is_done(self) -> bool:
        """Whether all that can finish has finished, on all nodes."""
        flows = all(it.ended == it.finite for it in self.standings)
        return flows and all(watch.is_done(parts) for watch, parts in self._swarms())

    def stopped(self) -> str | None:
        """What the timeline stopped before it was complete."""
        return next(filter(None, (watch.stopped(parts) for watch, parts in self._swarms())), None)

    def unfinished(self) -> list[str]:
        """A line for each thing that is left to do, flows of all nodes first."""
        flows = [line for it in self.standings for line in it.unfinished]
        open_swarms = ((watch, it) for watch, it in self._swarms() if not watch.is_done(it))
        return flows + [watch.unfinished(parts) for watch, parts in open_swarms]
