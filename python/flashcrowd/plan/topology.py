"""Lowers a map: edges that packets cross become links, or delay and loss of a pair's own path."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from flashcrowd.base.units import Share
from flashcrowd.plan.conditions import conditions
from flashcrowd.plan.types import Link
from flashcrowd.scenario.edge import Edge
from flashcrowd.scenario.impairments import Bernoulli
from flashcrowd.scenario.routes import Route
from flashcrowd.scenario.topology import Topology


@dataclass(frozen=True)
class Between:
    """The way between two places, in one direction.

    Attributes:
        links: links crossed, in order.
        delay_ns: of all other edges together.
        loss: of all other edges together.
    """

    links: list[int]
    delay_ns: int
    loss: Bernoulli | None


class Lowered:
    """The edges of a map that some path uses, as links of a plan.

    An edge with a rate or with jitter is a link each way, with its delay and loss, that all who
    cross it share; one without adds to the path of each pair. A packet gets through if it does at
    each edge, so of losses p the sum is 1 - (1 - p)(1 - p)....
    """

    def __init__(self, topology: Topology, used: Sequence[str], links: list[Link]) -> None:
        self._topology = topology
        self._ways = topology.ways(used)
        crossed = {step for way in self._ways.values() for step in way or ()}
        self._link: dict[tuple[str, bool], int] = {}
        for name, edge in topology.edges.items():
            for against in (False, True):
                if (name, against) in crossed and _is_link(edge):
                    self._link[name, against] = len(links)
                    links.append(self._as_link(name, edge, against=against))

    def _as_link(self, name: str, edge: Edge, *, against: bool) -> Link:
        made = conditions(
            rate=edge.rate,
            queue=self._topology.queue,
            delay_ns=self._topology.delay_ns(edge),
            jitter=edge.jitter,
            loss=Bernoulli(probability=edge.loss),
        )
        return {"name": f"{name} back" if against else name, "conditions": made, "delay": None}

    def between(self, one: str, other: str) -> Between:
        """The way between two places. There is one: the checks come first."""
        way: Route | None = self._ways[one, other]
        if way is None:
            raise KeyError((one, other))
        links, delay_ns, through = [], 0, Share("100 %").amount
        edges: Mapping[str, Edge] = self._topology.edges
        for name, against in way:
            edge = edges[name]
            if _is_link(edge):
                links.append(self._link[name, against])
            else:
                delay_ns += self._topology.delay_ns(edge)
                through *= 1 - edge.loss.amount
        lost = Share.of(1 - through)
        return Between(links, delay_ns, Bernoulli(probability=lost) if lost else None)


def _is_link(edge: Edge) -> bool:
    return edge.rate is not None or edge.jitter is not None
