"""Ways over the edges of a map."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from flashcrowd.scenario.edge import Edge

Route = tuple[tuple[str, bool], ...]
"""Edges in the order in which packets cross them, by name, and whether against their direction."""

_DELAY = 10**12
"""Of two ways that take equally long, the one that loses less counts as shorter."""


def routes(
    edges: Mapping[str, Edge], delays_ns: Mapping[str, int], used: Sequence[str], *, direct: bool
) -> dict[tuple[str, str], Route | None]:
    """The way from each of the places `used` to each.

    Shortest paths are Dijkstra's, as networkx has them. Of several edges between two places the one
    with the least delay counts, then the one with the least loss, then the one with the highest
    rate, then the first: packets of one connection take one way. Hosts of one place have its loop
    between them, or nothing. On a map whose edges all lead both ways the way back is the way forth.
    """
    best: dict[tuple[str, str], tuple[tuple[int, float], str, bool]] = {}
    for name, edge in edges.items():
        weight = delays_ns[name] * _DELAY + _loss_weight(edge.loss.value)
        rank = (weight, -(edge.rate.bps if edge.rate else math.inf))
        for ends, against in _directions(edge):
            if ends not in best or rank < best[ends][0]:
                best[ends] = (rank, name, against)
    symmetric = not any(edge.one_way for edge in edges.values())
    found: dict[tuple[str, str], Route | None] = {}
    for place in used:
        loop = best.get((place, place))
        found[place, place] = ((loop[1], False),) if loop else ()
    if direct:
        for one in used:
            for other in used:
                if one != other:
                    step = best.get((one, other))
                    found[one, other] = ((step[1], step[2]),) if step else None
        return found
    graph = _graph(best)
    for number, one in enumerate(used):
        targets = used[number + 1 :] if symmetric else [it for it in used if it != one]
        ways = _shortest(graph, one) if targets else {}
        for other in targets:
            nodes = ways.get(other)
            way = _crossed(nodes, best) if nodes else None
            found[one, other] = way
            if symmetric:
                back = tuple((name, not against) for name, against in reversed(way or ()))
                found[other, one] = None if way is None else back
    return found


def _directions(edge: Edge) -> Iterator[tuple[tuple[str, str], bool]]:
    one, other = edge.between
    yield (one, other), False
    if not edge.one_way and one != other:
        yield (other, one), True


def _loss_weight(loss: float) -> int:
    """Grows with the loss, and adds up along a way: shares that get through are multiplied."""
    return round(-math.log1p(-min(loss, 1 - 1e-12)) * 1e9)


def _graph(best: Mapping[tuple[str, str], tuple[tuple[int, float], str, bool]]) -> Any:
    import networkx

    graph = networkx.DiGraph()
    for (one, other), (rank, _, _) in best.items():
        if one != other:
            graph.add_edge(one, other, weight=rank[0])
    return graph


def _shortest(graph: Any, source: str) -> Mapping[str, list[str]]:
    import networkx

    if source not in graph:
        return {}
    return networkx.single_source_dijkstra_path(graph, source)


def _crossed(
    nodes: Sequence[str], best: Mapping[tuple[str, str], tuple[tuple[int, float], str, bool]]
) -> Route:
    steps = (best[pair] for pair in itertools.pairwise(nodes))
    return tuple((name, against) for _, name, against in steps)
