"""Lowers the network: hosts, links and the cores between groups."""

from __future__ import annotations

from flashcrowd.plan.conditions import conditions
from flashcrowd.plan.format import (
    Conditions,
    Core,
    Draw,
    DrawnDelay,
    Host,
    Link,
    Network,
    Trace,
)
from flashcrowd.plan.kept import Kept
from flashcrowd.plan.traces import Followed, Traces
from flashcrowd.scenario.discipline import AnyQueue
from flashcrowd.scenario.distribution import LossDistribution, RttDistribution
from flashcrowd.scenario.line import Delay, Line
from flashcrowd.scenario.network import Group, Path, Way
from flashcrowd.scenario.network import Link as LinkTable
from flashcrowd.scenario.network import Network as NetworkTable
from flashcrowd.scenario.trace import Trace as TraceTable
from flashcrowd.units import Rate


def stacks_of(network: NetworkTable) -> list[str]:
    """The TCP stacks of the hosts, in the order of their indices."""
    return list(dict.fromkeys(_stack(group, network) for group in network.groups.values()))


def _stack(group: Group, network: NetworkTable) -> str:
    return network.stack if group.stack == "inherit" else group.stack


def lower_network(network: NetworkTable, kept: Kept) -> Network:
    """The network of a plan. Its hosts' TCP stacks are those of `stacks_of`."""
    links: list[Link] = []
    traces = Traces()
    forth, back = _shared_links(network, links, traces, kept)
    hosts = _hosts(network, links, traces, kept)
    cores, core_of = _cores(network, forth, back)
    traced: dict[str, list[Trace]] = {"traces": traces.all} if traces.all else {}
    return {
        "groups": list(network.groups),
        "hosts": hosts,
        "links": links,
        **traced,  # type: ignore[typeddict-item]
        "cores": cores,
        "core_of": core_of,
    }


def _way(way: Way) -> Conditions:
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


def _way_back(link: LinkTable) -> Way:
    return link if isinstance(link.back, str) else link.back


def _hosts(network: NetworkTable, links: list[Link], traces: Traces, kept: Kept) -> list[Host]:
    hosts: list[Host] = []
    stacks = stacks_of(network)
    for index, (name, group) in enumerate(network.groups.items()):
        stack_index = stacks.index(_stack(group, network))
        delays = group.access.delay.over(group.hosts) if group.access else []
        ways = kept.made(_ways, group.access) if group.access else None
        line = group.access
        followed = [traces.of(rate, line.framing) for rate in (line.up, line.down)] if line else []
        for number in range(group.hosts):
            host: Host = {
                "name": f"{name}-{number + 1}",
                "group": index,
                "stack": stack_index,
                "up": [],
                "down": [],
            }
            if group.access is not None and ways is not None:
                drawn = _drawn(group.access.delay, number=len(hosts))
                _access(host, ways, followed, delays[number], drawn, links)
            hosts.append(host)
    return hosts


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
    network: NetworkTable, forth: dict[str, int], back: dict[str, int]
) -> tuple[list[Core], list[int]]:
    """One core for all pairs of groups that share everything, and the core of each ordered pair."""
    paths: dict[tuple[str, str], tuple[Path, bool]] = {}
    for path in network.paths.values():
        first, second = path.between
        paths[second, first] = (path, True)
        paths[first, second] = (path, False)
    cores: list[Core] = []
    known: dict[tuple[object, ...], int] = {}
    core_of: list[int] = []
    for first, group in network.groups.items():
        for second, other in network.groups.items():
            path, reverse = paths.get((first, second), (None, False))
            crossed = list(path.through) if path else []
            if reverse:
                links = [back[name] for name in reversed(crossed)]
            else:
                links = [forth[name] for name in crossed]
            device_ns = _device_delay(group, other, inside=first == second)
            own_pair = (first, second) if path or group.devices or other.devices else ()
            if own_pair not in known:
                known[own_pair] = len(cores)
                cores.append(_core(network, path, links, device_ns))
            core_of.append(known[own_pair])
    return cores, core_of


def _device_delay(group: Group, other: Group, *, inside: bool) -> int:
    """One-way delay of the two device crossings between a host of each group."""
    if inside:
        return 2 * group.devices.loopback.ns if group.devices else 0
    return sum(each.devices.ethernet.ns for each in (group, other) if each.devices)


def _core(network: NetworkTable, path: Path | None, links: list[int], device_ns: int) -> Core:
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
