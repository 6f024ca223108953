"""Possible but unlikely settings of a scenario: a warning each, and it runs all the same."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from flashcrowd.base.errors import Problem
from flashcrowd.base.paths import join
from flashcrowd.base.units import Rate, Size, Span
from flashcrowd.scenario.capacity import PACKET
from flashcrowd.scenario.framing import Framing
from flashcrowd.scenario.impairments import Bernoulli, GilbertElliott
from flashcrowd.scenario.line import Line
from flashcrowd.scenario.members import taken
from flashcrowd.scenario.network import Network
from flashcrowd.scenario.problems import shown
from flashcrowd.scenario.profile import Profile
from flashcrowd.scenario.queue import Queue
from flashcrowd.scenario.scenario import Scenario
from flashcrowd.scenario.swarm import Population, Swarm
from flashcrowd.scenario.timeline import Change, Halt
from flashcrowd.scenario.trace import Trace

SMALLEST = 40
"""Bytes of a TCP acknowledgement: headers of IP and TCP (RFC 791, RFC 9293)."""

FULL = 1500
"""Bytes of a full packet on Ethernet (RFC 894), as most stacks send them."""

LONGEST = Span("1 min")
"""A packet that is longer on its way onto a line is hardly meant: the first retransmission timeout
is 1 s (RFC 6298), and a few of them end a connection."""


def doubts(scenario: Scenario) -> Iterator[Problem]:
    """Unlikely settings, whatever else the file says."""
    network = scenario.network
    changed = [it.change for it in scenario.timeline.values() if isinstance(it, Change)]
    stopped = [it.stop for it in scenario.timeline.values() if isinstance(it, Halt)]
    for name, group in network.groups.items():
        if isinstance(group.access, Line):
            yield from _line(group.access, join(("network", "groups", name, "access")))
    for name, link in network.links.items():
        place = join(("network", "links", name))
        yield from _way(place, ("rate", link.rate), ("queue", link.queue), link.framing)
        yield from _loss(link.loss, place)
        if not isinstance(link.back, str):
            back = link.back
            place = f"{place}.back"
            yield from _way(place, ("rate", back.rate), ("queue", back.queue), back.framing)
            yield from _loss(back.loss, place)
    yield from _loss(network.loss, "network")
    for name, path in network.paths.items():
        yield from _loss(path.loss, join(("network", "paths", name)))
    for name, workload in scenario.workloads.items():
        if isinstance(workload, Swarm):
            place = join(("workloads", name))
            yield from _swarm(workload, place, network)
            yield from _without_hosts(workload, place, network)
            # A study that stops a swarm does not wait for its downloads: "0 B/s" is then a
            # baseline.
            if name not in stopped and not any(path.startswith(f"{place}.") for path in changed):
                yield from _unseeded(workload, place)


def above_lines(scenario: Scenario) -> Iterator[Problem]:
    """Upload limits that no line of their hosts reaches."""
    groups = scenario.network.groups
    changed = [it.change for it in scenario.timeline.values() if isinstance(it, Change)]
    for name, workload in scenario.workloads.items():
        if not isinstance(workload, Swarm):
            continue
        for of, it in workload.populations.items():
            named = [it.group] if isinstance(it.group, str) else it.group
            lines = [join(("network", "groups", one, "access")) for one in named]
            own = (groups[one].access for one in named)
            rates = [line.up for line in own if isinstance(line, Line)]
            fixed = [rate for rate in rates if isinstance(rate, Rate)]
            place = join(("workloads", name, "populations", of, "upload"))
            vary = any(path.startswith((place, *lines)) for path in changed)
            if vary or len(fixed) < len(named) or it.upload is None or it.upload <= max(fixed):
                continue
            what = f"the line sends at most {max(fixed)}, so this limits nothing"
            yield Problem(place, shown(str(it.upload)), what, f"raise {lines[0]} as well")


def unsaid(
    scenario: Scenario, swept: Mapping[str, Sequence[object]] = MappingProxyType({})
) -> Iterator[Problem]:
    """Unlikely defaults, where the file says nothing.

    Asked only of a scenario as it was written, not of one whose defaults were written out.

    Args:
        scenario: what was written.
        swept: paths that a sweep sets, and their values.
    """
    for name, workload in scenario.workloads.items():
        if isinstance(workload, Swarm):
            yield from _clients(workload, join(("workloads", name)), scenario.profiles, swept)
    yield from _endless(scenario)


def _endless(scenario: Scenario) -> Iterator[Problem]:
    """Flows of whose end the file says nothing, while something else ends the run."""
    if "horizon" in scenario.stop.model_fields_set:
        return
    stopped = {event.stop for event in scenario.timeline.values() if isinstance(event, Halt)}
    others = [n for n, it in scenario.workloads.items() if isinstance(it, Swarm) or it.ends]
    for name, workload in scenario.workloads.items():
        said = {"size", "stop"} & workload.model_fields_set
        if workload.kind == "transfer" and not said and name not in stopped and others:
            yield Problem(
                join(("workloads", name)),
                "without size and stop",
                f"it has no end, and is cut when {' and '.join(others)} ends",
                'say `stop = "none"` if that is meant',
            )


def _line(line: Line, place: str) -> Iterator[Problem]:
    for rate, queue in (("up", "up_queue"), ("down", "down_queue")):
        rates, queues = (rate, getattr(line, rate)), (queue, getattr(line, queue))
        yield from _way(place, rates, queues, line.framing)
    yield from _loss(line.loss, place)


def _way(
    place: str, rate: tuple[str, Rate | Trace | None], queue: tuple[str, object], framing: Framing
) -> Iterator[Problem]:
    """A queue into which no packet fits, or a rate at which none gets through in time."""
    (rate_key, bits), (queue_key, limit) = rate, queue
    if bits is None:
        return
    if isinstance(limit, Queue) and limit.bytes is not None:
        smallest, full = framing.frame(SMALLEST), framing.frame(FULL)
        if limit.bytes.bytes < smallest:
            what = f"no packet fits: an acknowledgement alone has {smallest} B"
            yield Problem(f"{place}.{queue_key}", shown(str(limit)), what)
        elif limit.bytes.bytes < full:
            what = f"no full packet fits: it has {full} B"
            yield Problem(f"{place}.{queue_key}", shown(str(limit)), what)
    if isinstance(bits, Trace):
        mean = bits.capacity.mean_bps(framing.frame(PACKET))
        value = f"{bits.file}, {Rate.of(round(mean))} in the mean"
    else:
        mean, value = bits.bps, str(bits)
    seconds = FULL * 8 / mean
    if seconds > LONGEST.seconds:
        what = f"a packet of {Size.of(FULL)} takes {_spoken(seconds)}"
        yield Problem(f"{place}.{rate_key}", shown(value), what)


def _loss(loss: object, place: str) -> Iterator[Problem]:
    everything = (isinstance(loss, Bernoulli) and loss.probability.amount == 1) or (
        isinstance(loss, GilbertElliott) and loss.loss_good.amount == 1 == loss.loss_bad.amount
    )
    if everything:
        value = loss.probability if isinstance(loss, Bernoulli) else "both states at 100 %"
        yield Problem(f"{place}.loss", shown(str(value)), "nothing gets through")


def _swarm(swarm: Swarm, place: str, network: Network) -> Iterator[Problem]:
    leechers = [it for it in swarm.populations.values() if it.role == "leecher"]
    if swarm.stop_after is None or any(it.replace for it in leechers):
        return
    taking = taken(swarm.populations, {name: it.hosts for name, it in network.groups.items()})
    peers = {name: sum(one.counts.values()) for name, one in taking.items()}
    most = sum(peers[name] for name, it in swarm.populations.items() if it.role == "leecher")
    if swarm.stop_after > most:
        what = f"there are {most} leechers, so it ends nothing"
        yield Problem(f"{place}.stop_after", str(swarm.stop_after), what)


def _without_hosts(swarm: Swarm, place: str, network: Network) -> Iterator[Problem]:
    """Groups that a population names and has no host of: earlier populations took all."""
    sizes = {name: group.hosts for name, group in network.groups.items()}
    takers: dict[str, list[str]] = {}
    for name, one in taken(swarm.populations, sizes).items():
        named, population = list(one.starts), swarm.populations[name]
        empty = [it for it in named if one.starts[it] == sizes[it]]
        if len(empty) < len(named) and population.share is None:  # with none it is a mistake
            for group in empty:
                took = takers[group][0]
                what = f"none of it is left: {took} takes all of its hosts"
                hint = f"write `hosts = 1` in {took} to take only one, or give {took} its own group"
                path = join(("populations", name, "group"))
                yield Problem(f"{place}.{path}", shown(group), what, hint)
        for group in named:
            if one.counts.get(group):
                takers.setdefault(group, []).append(name)


def _unseeded(swarm: Swarm, place: str) -> Iterator[Problem]:
    """A file that no peer with a copy uploads."""
    if swarm.web_seeds:
        return
    seeds = {name: it for name, it in swarm.populations.items() if it.role == "seed"}
    if all(it.upload is not None and not it.upload for it in seeds.values()):
        path = join(("populations", next(iter(seeds)), "upload"))
        what = "no seed uploads, so no leecher gets the file"
        yield Problem(f"{place}.{path}", shown(str(next(iter(seeds.values())).upload)), what)


def _clients(
    swarm: Swarm,
    place: str,
    profiles: Mapping[str, Profile],
    swept: Mapping[str, Sequence[object]],
) -> Iterator[Problem]:
    """Populations of the default client beside others whose client is named."""
    default = str(Population.model_fields["profile"].default)
    silent: list[str] = []
    others: dict[str, None] = {}
    for name, population in swarm.populations.items():
        path = join(("populations", name, "profile"))
        varied = swept.get(f"{place}.{path}")
        if varied is None and "profile" not in population.model_fields_set:
            silent.append(path)
            continue
        for it in map(str, varied or [population.profile]):
            if it != default and (it not in profiles or profiles[it].base != default):
                others[it] = None
    for path in silent if others else ():
        what = f"it is {default}, a client of 2005; the others are {' and '.join(others)}"
        hint = f'say `profile = "{next(iter(others))}"`, or "{default}" if that is meant'
        yield Problem(f"{place}.{path}", "not given", what, hint)


def _spoken(seconds: float) -> str:
    """A time in the largest of minutes and hours that fits."""
    return f"{seconds / 3600:.1f} h" if seconds >= 3600 else f"{seconds / 60:.1f} min"
