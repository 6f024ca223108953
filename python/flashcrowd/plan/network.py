"""Lowers the network: hosts, links and the cores between groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from flashcrowd.base.kept import Kept
from flashcrowd.base.units import Rate
from flashcrowd.plan.conditions import conditions
from flashcrowd.plan.topology import Between, Lowered
from flashcrowd.plan.traces import Followed, Traces
from flashcrowd.plan.types import (
    Conditions,
    CorePath,
    Draw,
    DrawnDelay,
    Host,
    Link,
    Network,
)
from flashcrowd.scenario.discipline import AnyQueue
from flashcrowd.scenario.distribution import LossDistribution, RttDistribution
from flashcrowd.scenario.edge import Place
from flashcrowd.scenario.line import Delay, Line
from flashcrowd.scenario.network import Direction, Group, Path
from flashcrowd.scenario.network import Link as LinkTable
from flashcrowd.scenario.network import Network as NetworkTable
from flashcrowd.scenario.placement import sites
from flashcrowd.scenario.trace import Trace as TraceTable


def stacks_of(network: NetworkTable, kept: Kept) -> tuple[str, ...]:
    """The TCP stacks of the hosts by index; one object for all networks that have the same."""
    named = dict.fromkeys(_stack(group, network) for group in network.groups.values())
    return kept.same(tuple(named))


def _stack(group: Group, network: NetworkTable) -> str:
    return network.stack if group.stack == "inherit" else group.stack


@dataclass(frozen=True)
class _Site:
    """A group of a plan: hosts of one group that are at one place.

    Attributes:
        name: of the group.
        group: its table.
        place: name of the place; empty without a map.
    """

    name: str
    group: Group
    place: str


def _sites(network: NetworkTable) -> list[_Site]:
    return [
        _Site(name, group, place)
        for name, group in network.groups.items()
        for place in sites(group, network.topology) or [""]
    ]


def weight(lowered: Network) -> int:
    """The size of a plan's network, in hosts: a core counts as half a host."""
    return len(lowered["hosts"]) + len(lowered["cores"]) // 2


def lower_network(network: NetworkTable, kept: Kept) -> Network:
    """The network of a plan. Its hosts' TCP stacks are those of `stacks_of`."""
    links: list[Link] = []
    traces = Traces()
    forth, back = _shared_links(network, links, traces, kept)
    here = _sites(network)
    lowered = None
    if network.topology is not None:
        places = list(dict.fromkeys(site.place for site in here))
        lowered = Lowered(network.topology, places, links)
    hosts = _hosts(network, here, links, traces, kept)
    cores, core_of = _cores(network, here, forth, back, lowered)
    return {
        "groups": [site.name for site in here],
        "hosts": hosts,
        "links": links,
        **traces.listed(),
        "cores": cores,
        "core_of": core_of,
    }


def _way(way: Direction) -> Conditions:
    return conditions(
        rate=way.rate,
        queue=way.queue,
        delay_ns=way.delay.ns,
        jitter=way.jitter,
        loss=way.loss,
        framing=way.framing,
    )


def _shared_links(
    network: NetworkTable, links: list[Link], traces: Traces, kept: Kept
) -> tuple[dict[str, int], dict[str, int]]:
    """Adds both directions of each shared link; gives their indices by name."""
    forth: dict[str, int] = {}
    back: dict[str, int] = {}
    for name, link in network.links.items():
        for number, way in ((forth, link), (back, _way_back(link))):
            number[name] = len(links)
            title = name if number is forth else f"{name} back"
            followed = traces.of(way.rate, way.framing)
            made = kept.made(_way, way)
            links.append({"name": title, "conditions": made, **followed, "delay": None})
    return forth, back


def _way_back(link: LinkTable) -> Direction:
    return link if isinstance(link.back, str) else link.back


def _hosts(
    network: NetworkTable, here: Sequence[_Site], links: list[Link], traces: Traces, kept: Kept
) -> list[Host]:
    hosts: list[Host] = []
    stacks = stacks_of(network, kept)
    of_group: dict[str, list[int]] = {}
    for index, site in enumerate(here):
        of_group.setdefault(site.name, []).append(index)
    for name, group in network.groups.items():
        stack_index = stacks.index(_stack(group, network))
        lines = [_line(here[index], network, kept) for index in of_group[name]]
        delays = [line.delay.over(group.hosts) if line else [] for line in lines]
        followed = [
            [traces.of(rate, line.framing) for rate in (line.up, line.down)] if line else []
            for line in lines
        ]
        for number in range(group.hosts):
            turn = number % len(lines)
            host: Host = {
                "name": f"{name}-{number + 1}",
                "group": of_group[name][turn],
                "stack": stack_index,
                "up": [],
                "down": [],
            }
            line = lines[turn]
            if line is not None:
                ways = kept.made(_ways, line)
                drawn = _drawn(line.delay, number=len(hosts))
                _access(host, ways, followed[turn], delays[turn][number], drawn, links)
            hosts.append(host)
    return hosts


def _line(site: _Site, network: NetworkTable, kept: Kept) -> Line | None:
    """The access line of hosts at a site: that of their group, or else that of their place."""
    if site.group.access is not None or network.topology is None:
        return site.group.access
    return kept.found(_line_of_place, network.topology.places[site.place])


def _line_of_place(place: Place) -> Line | None:
    return Line(up=place.up, down=place.down) if place.up or place.down else None


def _drawn(delay: Delay, *, number: int) -> DrawnDelay | None:
    if not delay.drawn:
        return None
    return {"number": number, "least_ns": delay.low.ns, "most_ns": delay.high.ns}


def _access(
    host: Host,
    ways: tuple[Conditions, Conditions],
    followed: list[Followed],
    delay_ns: int,
    drawn: DrawnDelay | None,
    links: list[Link],
) -> None:
    both = (("up", host["up"]), ("down", host["down"]))
    for (direction, crossed), way, trace in zip(both, ways, followed, strict=True):
        crossed.append(len(links))
        made: Conditions = {**way, "delay_ns": delay_ns}
        name = f"{host['name']} {direction}"
        links.append({"name": name, "conditions": made, **trace, "delay": drawn})


def _ways(line: Line) -> tuple[Conditions, Conditions]:
    """Both directions of an access line, up and down, without their delay."""

    def way(rate: Rate | TraceTable | None, queue: AnyQueue) -> Conditions:
        return conditions(
            rate=rate, queue=queue, jitter=line.jitter, loss=line.loss, framing=line.framing
        )

    return way(line.up, line.up_queue), way(line.down, line.down_queue)


def _cores(
    network: NetworkTable,
    here: Sequence[_Site],
    forth: dict[str, int],
    back: dict[str, int],
    lowered: Lowered | None,
) -> tuple[list[CorePath], list[int]]:
    """One core for all pairs of groups that share everything, and the core of each ordered pair."""
    paths: dict[tuple[str, str], tuple[Path, bool]] = {}
    for path in network.paths.values():
        first, second = path.between
        paths[second, first] = (path, True)
        paths[first, second] = (path, False)
    cores: list[CorePath] = []
    known: dict[tuple[object, ...], int] = {}
    core_of: list[int] = []
    for site in here:
        for other in here:
            path, reverse = paths.get((site.name, other.name), (None, False))
            devices, device_ns = site.group.devices or other.group.devices, 0
            if devices:
                inside = (site.name, site.place) == (other.name, other.place)
                device_ns = _device_delay(site.group, other.group, inside=inside)
            if lowered is not None and path is None:
                own_pair = (site.place, other.place, device_ns)
            elif path or devices:
                own_pair = (site.name, other.name, device_ns)
            else:
                own_pair = ()
            if own_pair not in known:
                known[own_pair] = len(cores)
                if lowered is not None and path is None:
                    between = lowered.between(site.place, other.place)
                    cores.append(_core_of_map(network, between, device_ns))
                else:
                    links = _crossed(path, forth, back, reverse=reverse)
                    cores.append(_core(network, path, links, device_ns))
            core_of.append(known[own_pair])
    return cores, core_of


def _crossed(
    path: Path | None, forth: dict[str, int], back: dict[str, int], *, reverse: bool
) -> list[int]:
    """The shared links on a path, in order."""
    if path is None:
        return []
    if reverse:
        return [back[name] for name in reversed(path.through)]
    return [forth[name] for name in path.through]


def _core_of_map(network: NetworkTable, between: Between, device_ns: int) -> CorePath:
    rtt_ns = 0 if isinstance(network.rtt, RttDistribution) else network.rtt.ns
    delay_ns = between.delay_ns + rtt_ns // 2 + device_ns
    return {
        "links": between.links,
        "conditions": conditions(delay_ns=delay_ns, jitter=network.jitter, loss=between.loss),
        "draw": None,
    }


def _device_delay(group: Group, other: Group, *, inside: bool) -> int:
    """One-way delay of the two device crossings between a host of each group."""
    if inside:
        return 2 * group.devices.loopback.ns if group.devices else 0
    return sum(each.devices.ethernet.ns for each in (group, other) if each.devices)


def _core(network: NetworkTable, path: Path | None, links: list[int], device_ns: int) -> CorePath:
    rtt, jitter, loss = network.rtt, network.jitter, network.loss
    if path is not None:
        rtt = rtt if path.rtt == "inherit" else path.rtt
        jitter = jitter if path.jitter == "inherit" else path.jitter
        loss = loss if path.loss == "inherit" else path.loss
    draw: Draw = {"rtt_s": None, "loss": None}
    delay_ns = device_ns
    if isinstance(rtt, RttDistribution):
        draw["rtt_s"] = [(fraction.value, span.seconds) for fraction, span in rtt.points]
    else:
        delay_ns += rtt.ns // 2
    if isinstance(loss, LossDistribution):
        draw["loss"] = [(fraction.value, share.value) for fraction, share in loss.points]
        loss = None
    return {
        "links": links,
        "conditions": conditions(delay_ns=delay_ns, jitter=jitter, loss=loss),
        "draw": draw if draw["rtt_s"] or draw["loss"] else None,
    }
