"""Where hosts are on a map, and whether they can reach each other there."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence

from flashcrowd.base.errors import MISSING, Problem, did_you_mean, one_of
from flashcrowd.base.paths import join
from flashcrowd.scenario.distribution import RttDistribution
from flashcrowd.scenario.edge import ways
from flashcrowd.scenario.network import Group, Network
from flashcrowd.scenario.problems import shown
from flashcrowd.scenario.topology import Topology

MOST_SITES = 200
"""Places that hosts are at, counted for each group. Each two of them have a path."""


def sites(group: Group, topology: Topology | None) -> list[str]:
    """The places of a group, by name; none without a map."""
    if topology is None:
        return []
    return list(dict.fromkeys(topology.find(name)[0] for name in group.at[: group.hosts]))


def placement(network: Network) -> Iterator[Problem]:
    """Mistakes in a map, and in the places of hosts on it."""
    topology = network.topology
    if topology is None:
        for name, group in network.groups.items():
            if group.at:
                place, hint = join(("network", "groups", name, "at")), "say `network.topology`"
                yield Problem(place, shown(group.at), "none without a topology", hint)
        return
    found = [*_beside(network), *_edges(network, topology)]
    for name, group in network.groups.items():
        found.extend(_at(group, join(("network", "groups", name, "at")), topology))
    yield from found
    if found:
        return
    used = {name: sites(group, topology) for name, group in network.groups.items()}
    count = sum(map(len, used.values()))
    if count > MOST_SITES:
        allowed = f"hosts at {MOST_SITES} places at most, counted for each group"
        yield Problem("network.groups", f"{count} places", allowed)
        return
    yield from _unreachable(network, topology, used)


def _beside(network: Network) -> Iterator[Problem]:
    """Keys that a network with a map cannot have."""
    if network.loss is not None:
        allowed = "none beside a topology, whose edges say what is lost"
        yield Problem("network.loss", shown(network.loss), allowed)
    if isinstance(network.rtt, RttDistribution):
        allowed = "a time beside a topology, whose edges have the delays; it is added to theirs"
        yield Problem("network.rtt", shown(network.rtt), allowed)


def _edges(network: Network, topology: Topology) -> Iterator[Problem]:
    place = "network.topology"
    if not topology.places:
        yield Problem(f"{place}.places", MISSING, "places, or a file that has them")
        return
    taken = {name for link in network.links for name in ways(link)}
    for name, edge in topology.edges.items():
        path = join((*place.split("."), "edges", name))
        for end in edge.between:
            if end not in topology.places:
                hint = did_you_mean(end, topology.places)
                allowed = f"a place: {one_of(topology.places)}"
                yield Problem(f"{path}.between", shown(end), allowed, hint)
        names = set(ways(name))
        if names & taken or any(_is_line(it, network) for it in names):
            hint = f'in tables its directions are "{name}" and "{name} back"'
            yield Problem(path, shown(name), "a name that no link and no line has", hint)
        taken |= names
    if topology.unplaced == "refuse":
        ends = {
            end
            for edge in topology.edges.values()
            if not topology.is_usable(edge)
            for end in edge.between
            if end in topology.places and topology.places[end].coordinates is None
        }
        if ends:
            yield Problem(
                place,
                f"{one_of(map(topology.called, sorted(ends)), 5)} without coordinates",
                "Latitude and Longitude at both ends of each edge that has no latency",
                'add them, or say `unplaced = "leave-out"` to go without these edges',
            )


def is_link(network: Network, name: str) -> bool:
    """Whether tables call a direction of a link, of an edge of the map or of a line so."""
    group = name.rpartition(" ")[0].rpartition("-")[0]
    return name in _shared(network) or (_is_line(name, network) and _has_line(network, group))


def links(network: Network) -> Iterator[str]:
    """Names in tables of the directions of all links and edges; of lines, those of first hosts."""
    yield from _shared(network)
    for group in network.groups:
        if _has_line(network, group):
            yield from (f"{group}-1 up", f"{group}-1 down")


def _shared(network: Network) -> list[str]:
    edges = network.topology.edges if network.topology else {}
    return [name for link in (*network.links, *edges) for name in ways(link)]


def _has_line(network: Network, group: str) -> bool:
    """Whether hosts of a group have lines of their own, or may have them of their places."""
    return network.groups[group].access is not None or network.topology is not None


def _is_line(name: str, network: Network) -> bool:
    """Whether the access line of a host is called so: "homes-2 up"."""
    host, _, way = name.rpartition(" ")
    group, _, number = host.rpartition("-")
    if way not in ("up", "down") or group not in network.groups:
        return False
    if not re.fullmatch("[0-9]{1,9}", number):
        return False
    return 1 <= int(number) <= network.groups[group].hosts


def _at(group: Group, place: str, topology: Topology) -> Iterator[Problem]:
    if not group.at:
        hint = "every host of a network with a topology is at a place of it"
        yield Problem(place, MISSING, f"a place: {_some(topology)}", hint)
    for name in group.at:
        found = topology.find(name)
        if not found:
            names = [*topology.places, *(it.label for it in topology.places.values() if it.label)]
            hint = did_you_mean(name, names)
            yield Problem(place, shown(name), f"a place: {_some(topology)}", hint)
        elif len(found) > 1:
            hint = "several places have this label; choose one by its name"
            yield Problem(place, shown(name), one_of(found), hint)


def _some(topology: Topology) -> str:
    return one_of((it.label or name for name, it in topology.places.items()), 8)


def _unreachable(
    network: Network, topology: Topology, used: Mapping[str, Sequence[str]]
) -> Iterator[Problem]:
    """Pairs of places without a way, where no path of one's own joins their groups."""
    own = {frozenset(path.between) for path in network.paths.values()}
    every = list(dict.fromkeys(itertools.chain.from_iterable(used.values())))
    ways = topology.ways(every)
    lost: dict[tuple[str, str], None] = {}
    for one, other in itertools.product(used, used):
        if frozenset((one, other)) in own:
            continue
        for a, b in itertools.product(used[one], used[other]):
            if ways[a, b] is None and (b, a) not in lost:
                lost[a, b] = None
    if not lost:
        return
    some = [f"{topology.called(a)} to {topology.called(b)}" for a, b in list(lost)[:5]]
    more = f", … ({len(lost)} in all)" if len(lost) > 5 else ""
    what = "an edge" if topology.routes == "direct" else "a way"
    hint = 'say `routes = "shortest"`' if topology.routes == "direct" else ""
    if not hint and any(not topology.is_usable(edge) for edge in topology.edges.values()):
        hint = "edges without latency and coordinates are left out"
    value = f"none from {'; '.join(some)}{more}"
    yield Problem("network.topology", value, f"{what} between all places with hosts", hint)
