"""How far shares of a run are, and when the run as a whole is over: as one that is not divided."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from flashcrowd.undelivered import UNDELIVERED, may_upload


@dataclass(frozen=True)
class SwarmStanding:
    """What one node knows of a swarm: of the peers that it plays.

    Attributes:
        leechers: leechers, planned ones and replacements.
        completed: those that have the whole file.
        over: those that have it, or left without it.
        came: peers that have come, seeds as well.
        down: bytes that leechers received.
        missing: whether a peer is online that lacks something.
        stopped: whether the timeline has stopped it.
    """

    leechers: int = 0
    completed: int = 0
    over: int = 0
    came: int = 0
    down: int = 0
    missing: bool = False
    stopped: bool = False


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
        self._moved: dict[int, tuple[int, int, float]] = {}

    @property
    def part(self) -> float:
        """How far the run is: as far as the node that is furthest behind."""
        return min(standing.part for standing in self.standings)

    def swarms(self) -> dict[int, SwarmStanding]:
        """What is known of each swarm on all nodes together."""
        indexes = sorted({index for standing in self.standings for index in standing.swarms})
        return {index: _sum([it.swarms.get(index) for it in self.standings]) for index in indexes}

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
            stalled = self._stalled(index, swarm, standing.t_s)
            if stalled:
                return "stalled", stalled
        finite = sum(it.finite for it in self.standings)
        ended = sum(it.ended for it in self.standings)
        over = all(self._is_done(index, swarm) for index, swarm in swarms.items())
        if (finite or swarms) and ended == finite and over:
            return self._stopped(swarms)
        if all(it.t_s >= self._horizon_s for it in self.standings):
            unfinished = [*self._unfinished(swarms)]
            return ("horizon", "; ".join(unfinished)) if unfinished else ("completed", "")
        return None

    def _spec(self, index: int) -> Mapping[str, Any]:
        return self._plan["workloads"][index]

    def _is_done(self, index: int, swarm: SwarmStanding) -> bool:
        limit = self._spec(index)["stop_after_completions"]
        if swarm.stopped or (limit is not None and swarm.completed >= limit):
            return True
        if any(it["replace"] for it in self._spec(index)["populations"]):
            return False
        return swarm.over == swarm.leechers

    def _stalled(self, index: int, swarm: SwarmStanding, now_s: float) -> str:
        down, came, since_s = self._moved.get(index, (-1, -1, 0.0))
        if swarm.down > down or swarm.came > came:
            self._moved[index] = (swarm.down, swarm.came, now_s)
            return ""
        waiting = swarm.came > swarm.over and swarm.over < swarm.leechers
        if self._is_done(index, swarm) or not waiting or now_s - since_s < self._stall_s:
            return ""
        return (
            f"swarm {self._spec(index)['name']}: no block arrived for {now_s - since_s:.0f} s, "
            f"{swarm.completed} of {swarm.leechers} leechers complete"
        )

    def _stopped(self, swarms: Mapping[int, SwarmStanding]) -> tuple[str, str]:
        for index, swarm in swarms.items():
            nothing = not (swarm.down or swarm.completed)
            if swarm.stopped and nothing and may_upload(self._spec(index)):
                name, leechers = self._spec(index)["name"], swarm.leechers
                return UNDELIVERED, f"swarm {name}: no block arrived at {leechers} leechers"
            if swarm.stopped and swarm.completed < swarm.leechers:
                done = f"{swarm.completed} of {swarm.leechers} leechers complete"
                return "stopped", f"the timeline stopped a swarm with {done}"
        return "completed", ""

    def _unfinished(self, swarms: Mapping[int, SwarmStanding]) -> Iterator[str]:
        for standing in self.standings:
            yield from standing.unfinished
        for index, swarm in swarms.items():
            if not self._is_done(index, swarm):
                done = f"{swarm.completed} of {swarm.leechers} leechers complete"
                yield f"swarm {self._spec(index)['name']}: {done}"


def _sum(parts: Sequence[SwarmStanding | None]) -> SwarmStanding:
    known = [part for part in parts if part is not None]
    return SwarmStanding(
        leechers=sum(it.leechers for it in known),
        completed=sum(it.completed for it in known),
        over=sum(it.over for it in known),
        came=sum(it.came for it in known),
        down=sum(it.down for it in known),
        missing=any(it.missing for it in known),
        stopped=any(it.stopped for it in known),
    )
