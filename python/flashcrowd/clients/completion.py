"""When a swarm of real programs is done, and why it can go on no longer: as in the simulation.

One process may see all peers of a swarm, or several nodes each a part; the rules are the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Any

SETTLED_S = 3.0
"""Nobody received anything for so long: nothing is under way any more from peers that have left."""
FLIGHT_S = 30.0
"""What they had sent has arrived after this, even while those who are left exchange pieces."""


@dataclass(frozen=True)
class SwarmStanding:
    """How far a swarm is, as far as one process knows: of the peers that it plays.

    Attributes:
        leechers: leechers, planned ones and replacements.
        completed: those that have the whole file.
        over: those that have it, or left without it.
        came: peers that have come, seeds as well.
        down: bytes that leechers received.
        missing: whether a peer is online that lacks something.
        stopped: whether the timeline has stopped it.
        sources: peers with the whole file whose clients run, and seeds that are still to come.
        pieces: the pieces that somebody has, as a bitfield in hexadecimal digits (BEP 3); None
            where that is not known, also while there are sources.
    """

    leechers: int = 0
    completed: int = 0
    over: int = 0
    came: int = 0
    down: int = 0
    missing: bool = False
    stopped: bool = False
    sources: int = 0
    pieces: str | None = None

    @classmethod
    def together(cls, parts: Sequence[SwarmStanding]) -> SwarmStanding:
        """What all nodes know, of what each does."""
        has = [int(it.pieces, 16) for it in parts if it.pieces is not None]
        return cls(
            leechers=sum(it.leechers for it in parts),
            completed=sum(it.completed for it in parts),
            over=sum(it.over for it in parts),
            came=sum(it.came for it in parts),
            down=sum(it.down for it in parts),
            missing=any(it.missing for it in parts),
            stopped=any(it.stopped for it in parts),
            sources=sum(it.sources for it in parts),
            pieces=f"{reduce(or_, has):x}" if has and len(has) == len(parts) else None,
        )

    def is_done(self, spec: Mapping[str, Any]) -> bool:
        """Whether there is nothing to wait for in this swarm of a plan."""
        limit = spec["stop_after_completions"]
        if self.stopped or (limit is not None and self.completed >= limit):
            return True
        if any(it["replace"] for it in spec["populations"]):
            return False
        return self.over >= self.leechers

    @property
    def words(self) -> str:
        """How many have the file."""
        return f"{self.completed} of {self.leechers} leechers complete"


class Watch:
    """Sees a swarm again and again, and says when it can go on no longer."""

    def __init__(self, spec: Mapping[str, Any], stall_s: float) -> None:
        """A watch.

        Args:
            spec: the swarm, from the plan.
            stall_s: so long a peer may wait while no block arrives anywhere.
        """
        self._spec, self._stall_s = spec, stall_s
        self._came = self._down = -1
        self._moved_s = 0.0
        self._lost, self._lost_s = 0, 0.0

    def outcome(self, now: SwarmStanding, now_s: float) -> str:
        """Why it can go on no longer, in the words of the simulation; empty while it can.

        Args:
            now: how far it is.
            now_s: when, in seconds of the run.
        """
        if now.came > self._came or now.down > self._down:
            self._came, self._down, self._moved_s = now.came, now.down, now_s
        lost = self._lost_pieces(now)
        if lost != self._lost:
            self._lost, self._lost_s = lost, now_s
        if now.is_done(self._spec):
            return ""
        idle_s, gone_s = now_s - self._moved_s, now_s - self._lost_s
        settled = gone_s >= FLIGHT_S or min(idle_s, gone_s) >= SETTLED_S
        name = self._spec["name"]
        if lost and settled:
            of = f"{lost} of {_pieces(self._spec)} pieces missing"
            return f"swarm {name}: no seed left, {of}, {now.words}"
        if now.missing and idle_s >= self._stall_s:
            return f"swarm {name}: no block arrived for {idle_s:.0f} s, {now.words}"
        return ""

    def _lost_pieces(self, now: SwarmStanding) -> int:
        """Pieces that nobody has who is there or still to come."""
        if now.sources or now.pieces is None:
            return 0
        return _pieces(self._spec) - int(now.pieces, 16).bit_count()


def _pieces(spec: Mapping[str, Any]) -> int:
    return -(-spec["size_bytes"] // spec["piece_bytes"])
