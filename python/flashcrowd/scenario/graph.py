"""A graph as a file has it, before its attributes are interpreted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from flashcrowd.base.errors import visible
from flashcrowd.base.units import UnitError

MOST_NODES = 2_000
MOST_EDGES = 20_000
"""Larger maps are refused: all of a map is in the resolved study."""

MOST_ELEMENTS = 50 * (MOST_NODES + MOST_EDGES)
"""No map of that size has more parts."""

ALLOWED = "a GraphML or GML file, as Shadow and the Topology Zoo have them"

Attributes = dict[str, str]


@dataclass(frozen=True)
class Arc:
    """An edge.

    Attributes:
        ends: the ids of its nodes, source first.
        directed: whether it leads only from the source to the target.
        attributes: what the file says of it, defaults included.
    """

    ends: tuple[str, str]
    directed: bool
    attributes: Attributes


@dataclass
class Graph:
    """Nodes and edges with their attributes as text.

    Attributes:
        path: the file.
        nodes: attributes of each node by its id, defaults included.
        arcs: edges in the order of the file.
        attributes: of the graph as a whole.
        usual: defaults for elements of every kind that have no value of their own.
        unread: what else the file has and no reader of it knows, counted: "port of a node" → 3.
    """

    path: Path
    nodes: dict[str, Attributes] = field(default_factory=dict)
    arcs: list[Arc] = field(default_factory=list)
    attributes: Attributes = field(default_factory=dict)
    usual: Attributes = field(default_factory=dict)
    unread: Counter[str] = field(default_factory=Counter)

    def checked(self) -> Graph:
        """Itself, if each end of an edge is a node.

        Raises:
            UnitError: one is not.
        """
        for arc in self.arcs:
            for side, end in zip(("source", "target"), arc.ends, strict=True):
                if end not in self.nodes:
                    hint = f'{self.path} has an edge whose {side} "{visible(end)}" is no node of it'
                    raise refused(hint, "edges between nodes of the file")
        return self

    def by_place(self) -> Sequence[Arc]:
        """The edges by the first of their nodes, those between the same two nodes together.

        An edge that leads both ways begins at the node that stands first.
        """
        place = {node: number for number, node in enumerate(self.nodes)}
        turned = [_turned(arc, place) for arc in self.arcs]
        first: dict[tuple[str, str], int] = {}
        for number, arc in enumerate(turned):
            first.setdefault(arc.ends, number)
        return sorted(turned, key=lambda arc: (place[arc.ends[0]], first[arc.ends]))


def _turned(arc: Arc, place: dict[str, int]) -> Arc:
    one, other = arc.ends
    if arc.directed or place[one] <= place[other]:
        return arc
    return Arc((other, one), directed=False, attributes=arc.attributes)


def refused(hint: str, allowed: str = ALLOWED) -> UnitError:
    """A map that cannot be used."""
    return UnitError(allowed, hint, key="file")


def refuse_many(nodes: int, edges: int, path: Path) -> None:
    """Refuses maps that are too large."""
    if nodes > MOST_NODES or edges > MOST_EDGES:
        allowed = f"a map of at most {MOST_NODES} nodes and {MOST_EDGES} edges"
        raise refused(f"{path} has more; keep the nodes that you use", allowed)


def refuse_twice(node: str, path: Path) -> UnitError:
    """A node that stands twice."""
    return refused(f'{path} has the node "{visible(node)}" twice', "nodes with an id each")
