"""Checks that the tables of a scenario cannot make alone: references and combinations."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import wraps
from typing import ParamSpec

from flashcrowd.base.errors import MISSING, Problem, one_of
from flashcrowd.base.kept import Kept
from flashcrowd.base.paths import join
from flashcrowd.base.units import Size, Span
from flashcrowd.scenario import shipped
from flashcrowd.scenario.arrivals import Times
from flashcrowd.scenario.capture import Capture
from flashcrowd.scenario.connections import Connections
from flashcrowd.scenario.distribution import RttDistribution
from flashcrowd.scenario.flows import Flow
from flashcrowd.scenario.hosts import HostNames, Sizes, sizes_of
from flashcrowd.scenario.measures import Measures, Stop, Window
from flashcrowd.scenario.members import members
from flashcrowd.scenario.network import Network
from flashcrowd.scenario.origin import Clients, HardDisk, Origin
from flashcrowd.scenario.placement import placement
from flashcrowd.scenario.problems import shown, unknown, unknown_group
from flashcrowd.scenario.profile import Profile
from flashcrowd.scenario.reflectors import check_reflectors
from flashcrowd.scenario.scenario import Scenario, profile_of
from flashcrowd.scenario.stack import Stack
from flashcrowd.scenario.swarm import Population, Storage, Swarm
from flashcrowd.scenario.utp import Utp
from flashcrowd.scenario.workloads import Workload

P = ParamSpec("P")

MOST_HOSTS = 100_000
SHRINK = (
    "divide the hosts of each group of users and the rates of the origin by one number, as with "
    "--set network.groups.USERS.hosts=50 --set network.groups.ORIGIN.access.up='25 Mbit/s', and "
    "leave other lines, clients and sizes as they are "
    "(https://github.com/flashcrowd/flashcrowd/blob/main/docs/too-big.md)"
)
"""How to shrink a crowd that is too big."""
TOO_MANY = f"at most {MOST_HOSTS} hosts in all"
MOST_PIECES = 1_000_000
MOST_BLOCKS = 65_535


def check(scenario: Scenario, kept: Kept | None = None) -> list[Problem]:
    """Every mistake in a scenario whose tables are valid one by one.

    A rule sees the tables that it is about and nothing else, so that what it says of them holds
    wherever they stand together.

    Args:
        scenario: what to check.
        kept: what the rules said of scenarios that share tables with this one.
    """
    kept = kept or Kept()
    network, workloads, measures = scenario.network, scenario.workloads, scenario.measures
    variants = scenario.stacks, scenario.utp, scenario.profiles
    sizes = kept.found(sizes_of, network, kept)
    return kept.found(_hosts, sizes) or [
        *kept.found(_network, network, sizes, scenario.stacks),
        *kept.found(_rest, sizes, workloads, *variants, measures, scenario.stop, kept),
    ]


def _rest(
    sizes: Sizes,
    workloads: Mapping[str, Workload],
    stacks: Mapping[str, Stack],
    utp: Mapping[str, Utp],
    profiles: Mapping[str, Profile],
    measures: Measures,
    stop: Stop,
    kept: Kept,
) -> list[Problem]:
    """Mistakes outside the network, of which no more is seen than how large its groups are."""
    return [
        *kept.found(_workloads, workloads, sizes, stacks, utp, profiles),
        *kept.found(_variants, stacks, utp, profiles),
        *kept.found(_capture, measures, stop, sizes),
        *kept.found(_windows, measures, stop),
        *kept.found(_logs, measures, stop, workloads, sizes),
        *kept.found(_ends, workloads, stop),
    ]


def _hosts(sizes: Sizes) -> list[Problem]:
    """Too many hosts. No other rule is checked then, as each would list them all."""
    total = sum(hosts for _, hosts in sizes)
    if total <= MOST_HOSTS:
        return []
    return [Problem("network.groups", f"{total} hosts", TOO_MANY, SHRINK)]


def _rule(told: Callable[P, Iterable[Problem]]) -> Callable[P, list[Problem]]:
    """A rule: all that it tells, as a list that can be kept."""

    @wraps(told)
    def all_told(*args: P.args, **kwargs: P.kwargs) -> list[Problem]:
        return list(told(*args, **kwargs))

    return all_told


@dataclass(frozen=True)
class _Transports:
    """A scenario's own transports."""

    stacks: Mapping[str, Stack]
    utp: Mapping[str, Utp]


@dataclass(frozen=True)
class _Named(_Transports):
    """The names that a workload may use."""

    hosts: HostNames
    profiles: Mapping[str, Profile]
    workloads: Mapping[str, Workload]


@_rule
def _workloads(
    workloads: Mapping[str, Workload],
    sizes: Sizes,
    stacks: Mapping[str, Stack],
    utp: Mapping[str, Utp],
    profiles: Mapping[str, Profile],
) -> Iterator[Problem]:
    named = _Named(stacks, utp, HostNames(sizes), profiles, workloads)
    for name, workload in workloads.items():
        place = join(("workloads", name))
        if isinstance(workload, Swarm):
            yield from _swarm(workload, place, named)
        elif isinstance(workload, Origin):
            yield from _origin(workload, place, named)
        else:
            yield from _flow(workload, place, named.hosts)
            if workload.carried_by is not None:
                yield from _transport(workload.carried_by, f"{place}.transport", named)
        stem, _, number = name.rpartition("-")
        if stem in workloads and number.isdecimal():
            allowed = f"a name that no flow of {stem} can have"
            yield Problem(place, shown(name), allowed, "leave the number out")


@_rule
def _windows(measures: Measures, stop: Stop) -> Iterator[Problem]:
    places = {f"windows.{table}": window for table, window in measures.windows.items()}
    for place, window in {"window": measures.window, **places}.items():
        yield from _extent(f"measures.{place}", window, stop.horizon)


def _extent(place: str, chosen: Window | Capture | Connections, end: Span) -> Iterator[Problem]:
    """Times that hold nothing."""
    if chosen.begin >= end:
        allowed = f"a time before the end of the run, {end}"
        yield Problem(f"{place}.from", shown(str(chosen.begin)), allowed)
    if chosen.to is not None and chosen.to <= chosen.begin:
        allowed = f"a time after `from`, {chosen.begin}"
        yield Problem(f"{place}.to", shown(str(chosen.to)), allowed)


@_rule
def _capture(measures: Measures, stop: Stop, sizes: Sizes) -> Iterator[Problem]:
    chosen, place = measures.capture, "measures.capture"
    if chosen is None:
        return
    hosts = HostNames(sizes)
    for name in chosen.hosts:
        if hosts.find(name) is None:
            yield hosts.stranger(f"{place}.hosts", name, "a host or a group")
    yield from _extent(place, chosen, stop.horizon)


@_rule
def _logs(
    measures: Measures, stop: Stop, workloads: Mapping[str, Workload], sizes: Sizes
) -> Iterator[Problem]:
    chosen, place = measures.connections, "measures.connections"
    if chosen is None:
        return
    known, hosts = connecting(workloads), HostNames(sizes)
    if not known:
        yield Problem(place, MISSING, "a workload that opens connections", "there is none")
    for number, name in enumerate(() if chosen.of == "all" else chosen.of):
        if name not in known:
            what = "a workload that opens connections"
            yield unknown(f"{place}.of[{number}]", name, what, known)
    for number, name in enumerate(() if chosen.hosts == "all" else chosen.hosts):
        if hosts.find(name) is None:
            yield hosts.stranger(f"{place}.hosts[{number}]", name, "a host or a group")
    yield from _extent(place, chosen, stop.horizon)


def connecting(workloads: Mapping[str, Workload]) -> list[str]:
    """The workloads that open connections."""
    return [
        name
        for name, workload in workloads.items()
        if isinstance(workload, Swarm) or workload.carried_by is not None
    ]


@_rule
def _network(network: Network, sizes: Sizes, own: Mapping[str, Stack]) -> Iterator[Problem]:
    stacks = [*shipped.stacks(), *own]
    if network.stack not in stacks:
        yield unknown("network.stack", network.stack, "a TCP stack", stacks, makes=("stacks",))
    host_names = HostNames(sizes).index
    for name, group in network.groups.items():
        if group.stack not in ("inherit", *stacks):
            place = join(("network", "groups", name, "stack"))
            yield unknown(
                place, group.stack, "a TCP stack", ["inherit", *stacks], makes=("stacks",)
            )
        if name in host_names:
            allowed = "a name that no host of another group has"
            yield Problem(join(("network", "groups", name)), shown(name), allowed)
    yield from _paths(network)
    yield from placement(network)


def _paths(network: Network) -> Iterator[Problem]:
    seen: dict[frozenset[str], str] = {}
    for name, path in network.paths.items():
        place = join(("network", "paths", name))
        for group in dict.fromkeys(path.between):
            if group not in network.groups:
                yield unknown_group(f"{place}.between", group, "a group", network.groups)
        for link in path.through:
            if link not in network.links:
                yield unknown(f"{place}.through", link, "a shared link", network.links)
        if len(set(path.through)) < len(path.through):
            allowed = "each shared link at most once"
            yield Problem(f"{place}.through", shown(path.through), allowed)
        pair = frozenset(path.between)
        if pair in seen:
            allowed = f"one path for each pair of groups; {seen[pair]} has this pair"
            yield Problem(f"{place}.between", shown(list(path.between)), allowed)
        seen[pair] = name
    draws = [network.rtt, *(path.rtt for path in network.paths.values())]
    if any(isinstance(rtt, RttDistribution) for rtt in draws):
        for name, group in network.groups.items():
            if group.devices is not None and (group.devices.loopback or group.devices.ethernet):
                yield Problem(
                    join(("network", "groups", name, "devices")),
                    shown(group.devices),
                    "no device delays where round-trip times are drawn from a distribution",
                    "give the devices delays or the network a distribution, not both",
                )


def _swarm(swarm: Swarm, place: str, named: _Named) -> Iterator[Problem]:
    pieces = -(-swarm.size.bytes // swarm.piece.bytes)
    if pieces > MOST_PIECES:
        allowed = f"a size of at least 1/{MOST_PIECES} of the file's {swarm.size}"
        yield Problem(f"{place}.piece", shown(swarm.piece), allowed)
    if swarm.piece.bytes >= 2**31:
        yield Problem(f"{place}.piece", shown(swarm.piece), "a size below 2 GiB")
    if swarm.block.bytes > swarm.piece.bytes:
        allowed = f"a size of at most a piece, {swarm.piece}"
        yield Problem(f"{place}.block", shown(swarm.block), allowed)
    if -(-swarm.piece.bytes // swarm.block.bytes) > MOST_BLOCKS:
        allowed = f"a size of at least 1/{MOST_BLOCKS} of a piece, {swarm.piece}"
        yield Problem(f"{place}.block", shown(swarm.block), allowed)
    if swarm.tracker.host is not None:
        yield from _host(f"{place}.tracker.host", swarm.tracker.host, named.hosts)
    populations = swarm.populations
    seeds = any(population.role == "seed" for population in populations.values())
    if not seeds and not swarm.web_seeds:
        yield Problem(
            f"{place}.populations",
            ", ".join(populations),
            "at least one population of seeds, or the file is nowhere",
            'give one population `role = "seed"`, or the swarm `web_seeds`',
        )
    yield from _web_seeds(swarm, place, named)
    leechers = [name for name, population in populations.items() if population.role == "leecher"]
    if not leechers:
        allowed = "at least one population of leechers"
        yield Problem(f"{place}.populations", ", ".join(populations), allowed)
    chosen = yield from _members(populations, place, named.hosts, "peer of a swarm")
    if len(chosen) == len(populations):
        yield from _both_roles(swarm, place, chosen)
    for name, population in populations.items():
        of = join(("populations", name))
        yield from _population(population, of, place, named, chosen.get(name, []), swarm)
        if swarm.block <= swarm.piece:
            profile = profile_of(named.profiles, population.profile)
            yield from _blocks(swarm, population, f"{place}.block", profile)
        if population.storage is not None:
            path = f"{place}.{join(('populations', name, 'storage'))}"
            yield from _storage(population.storage, population, swarm, path, named)


def _both_roles(swarm: Swarm, place: str, chosen: Mapping[str, list[str]]) -> Iterator[Problem]:
    """Shares that leave no seed or no leecher."""
    for role in ("leecher",) if swarm.web_seeds else ("seed", "leecher"):
        named = [name for name, it in swarm.populations.items() if it.role == role]
        if named and not any(chosen[name] for name in named):
            allowed = f"at least one host for a {role}"
            hint = f"{one_of(named)} has none: give it a larger `share`, or its groups more hosts"
            yield Problem(f"{place}.{join(('populations', named[0]))}", "no hosts", allowed, hint)


def _web_seeds(swarm: Swarm, place: str, named: _Named) -> Iterator[Problem]:
    """Content servers that have another file, or that no peer would ask."""
    origins = {name: it for name, it in named.workloads.items() if isinstance(it, Origin)}
    leechers = [it for it in swarm.populations.values() if it.role == "leecher"]
    groups = {
        group
        for it in leechers
        for group in ([it.group] if isinstance(it.group, str) else it.group)
    }
    for number, web_seed in enumerate(swarm.web_seeds):
        path = f"{place}.web_seeds[{number}]"
        origin = origins.get(web_seed.origin)
        if origin is None:
            yield unknown(f"{path}.origin", web_seed.origin, "an origin", origins)
            continue
        if web_seed.file >= origin.files.count:
            allowed = f"a number below {origin.files.count}, the files of {web_seed.origin}"
            yield Problem(f"{path}.file", str(web_seed.file), allowed)
        if origin.files.size.bytes != swarm.size.bytes:
            allowed = f"an origin whose files have the size of the swarm's, {swarm.size}"
            value = f"{web_seed.origin}, files of {origin.files.size}"
            hint = f'write `files = "{swarm.size}"` there'
            yield Problem(f"{path}.origin", value, allowed, hint)
        found = set(named.hosts.find(origin.host) or [])
        if any(found & set(named.hosts.of_group(it)) for it in groups if it in named.hosts.groups):
            allowed = "an origin on a host of a group without leechers of the swarm"
            yield Problem(f"{path}.origin", f"{web_seed.origin} on {origin.host}", allowed)
    profiles = [profile_of(named.profiles, it.profile) for it in leechers]
    known = [profile for profile in profiles if profile is not None]
    if swarm.web_seeds and known and not any(it.web_seeds.connections for it in known):
        clients = one_of(dict.fromkeys(it.profile for it in leechers))
        allowed = f"none where no leecher's client knows web seeds; theirs is {clients}"
        hint = 'give them `profile = "libtorrent"` or "modern"'
        yield Problem(
            f"{place}.web_seeds", one_of(it.origin for it in swarm.web_seeds), allowed, hint
        )


def _storage(
    storage: Storage, population: Population, swarm: Swarm, path: str, named: _Named
) -> Iterator[Problem]:
    """Disks of those who have none, and what a disk cannot be."""
    if population.role != "seed":
        allowed = "none where the role is leecher: only seeds read from a disk"
        yield Problem(path, shown(storage.disk.kind), allowed, "leave it out")
    profile = profile_of(named.profiles, population.profile)
    if profile is not None and profile.limiter.sharing != "quota":
        allowed = (
            "none where the client has no buffer for what is read (limiter.sharing quota); "
            f"{population.profile} has none"
        )
        yield Problem(path, shown(storage.disk.kind), allowed, 'write `profile = "libtorrent"`')
    block, extent = swarm.block.bytes, storage.extent.bytes
    if block & (block - 1) or swarm.piece.bytes % block:
        allowed = f"none where blocks of {swarm.block} are no power of two or cut a piece"
        yield Problem(path, shown(storage.disk.kind), allowed)
        return
    if extent & (extent - 1) or not 1 <= extent // block <= 64:
        allowed = f"a power of two, 1 to 64 blocks of {swarm.block}"
        yield Problem(f"{path}.extent", shown(storage.extent), allowed)
        return
    least = extent * (storage.reads + 2)
    if storage.memory.bytes < least:
        allowed = f"a size of at least {Size.of(least)}: two extents more than `reads`"
        yield Problem(f"{path}.memory", shown(storage.memory), allowed)
    if isinstance(storage.disk, HardDisk) and storage.disk.size < swarm.size:
        allowed = f"a disk of at least the file's {swarm.size}"
        yield Problem(f"{path}.disk.size", shown(storage.disk.size), allowed)


def _blocks(
    swarm: Swarm, population: Population, path: str, profile: Profile | None
) -> Iterator[Problem]:
    if profile is not None and swarm.block > profile.requests.max_block:
        yield Problem(
            path,
            shown(swarm.block),
            f"a size of at most {profile.requests.max_block}, the largest that the client "
            f"{population.profile} answers",
        )


def _population(
    population: Population,
    name: str,
    within: str,
    named: _Named,
    chosen: list[str],
    swarm: Swarm,
) -> Iterator[Problem]:
    place, hosts = f"{within}.{name}", named.hosts
    profiles = list(dict.fromkeys([*shipped.profiles(), *named.profiles]))
    if population.profile not in profiles:
        path, makes = f"{place}.profile", ("profiles",)
        yield unknown(path, population.profile, "a client profile", profiles, makes=makes)
    words = "profile", "inherit"
    yield from _transport(population.transport, f"{place}.transport", named, words)
    if population.data_transport is not None:
        yield from _transport(population.data_transport, f"{place}.data_transport", named, ())
    if not chosen:
        return
    yield from check_reflectors(population, chosen, place, swarm, named.workloads, hosts)
    if isinstance(population.arrivals, Times):
        yield from _times(population, population.arrivals, place, len(chosen))
        if population.replace and any(population.arrivals.leave):
            allowed = "false where arrivals say when each leaves: of a replacement they say nothing"
            hint = "`departure = { file = ... }` draws the session of each peer"
            yield Problem(f"{place}.replace", "true", allowed, hint)
    if population.replace and population.departure.kind in ("never", "all-done"):
        yield Problem(
            f"{place}.replace",
            "true",
            f'false where the departure is "{population.departure.kind}": nobody leaves before',
            'write `departure = "at-once"`',
        )


def _members(
    populations: Mapping[str, Population] | Mapping[str, Clients],
    place: str,
    hosts: HostNames,
    member: str,
) -> Generator[Problem, None, dict[str, list[str]]]:
    """The hosts of populations; nothing of those that cannot be."""
    found = members(populations, hosts, member)
    for name, one in found.items():
        for problem in one.wrong:
            path = f"{place}.{join(('populations', name))}.{problem.path}"
            yield replace(problem, path=path)
    return {name: one.hosts for name, one in found.items() if not one.wrong}


def _origin(origin: Origin, place: str, named: _Named) -> Iterator[Problem]:
    swarms = any(isinstance(it, Swarm) for it in named.workloads.values())
    if not origin.populations and not swarms:
        allowed = "at least one population, or a swarm that fetches from it"
        yield Problem(f"{place}.populations", MISSING, allowed)
    yield from _host(f"{place}.host", origin.host, named.hosts)
    yield from _transport(origin.transport, f"{place}.transport", named)
    found = named.hosts.find(origin.host) or []
    members_of = yield from _members(origin.populations, place, named.hosts, "client of an origin")
    for name, clients in origin.populations.items():
        of = f"{place}.{join(('populations', name))}"
        chosen = members_of.get(name, [])
        if len(found) == 1 and set(chosen) & set(found):
            allowed = f"groups without the server's host, {found[0]}"
            yield Problem(f"{of}.group", shown(clients.group), allowed)
        if chosen and isinstance(clients.arrivals, Times):
            yield from _times(clients, clients.arrivals, of, len(chosen))


def _times(
    population: Population | Clients, times: Times, place: str, wanted: int
) -> Iterator[Problem]:
    count = len(times.at)
    if count != wanted:
        path, value = f"{place}.arrivals.at", f"{count} instants"
        hint = "leave instants out, or take more hosts"
        if times.source:
            path, value = f"{place}.arrivals.file", f"{shown(times.source)}, {count} arrivals"
        if count < wanted:
            hint = f"write `hosts = {count}` here to take only so many"
        elif population.hosts == "all":
            groups = population.group if isinstance(population.group, str) else "the groups"
            hint = f"give {groups} {count} hosts, or leave lines out"
        yield Problem(path, value, f"one instant for each of the {wanted} hosts", hint)


def _transport(
    name: str, path: str, own: _Transports, words: Iterable[str] = ("inherit",)
) -> Iterator[Problem]:
    stacks, utps = [*shipped.stacks(), *own.stacks], [*shipped.utps(), *own.utp]
    known = list(dict.fromkeys([*words, *stacks, *utps]))
    if name not in known:
        yield unknown(path, name, "a transport", known, makes=("stacks", "utp"))


def _host(path: str, name: str, hosts: HostNames) -> Iterator[Problem]:
    found = hosts.find(name)
    if found is None:
        yield hosts.stranger(path, name, "a host or a group of one")
    elif len(found) > 1:
        allowed = f"one host; {name} is a group of {len(found)}"
        yield Problem(path, shown(name), allowed, f'write "{found[0]}"')


def _flow(flow: Flow, place: str, hosts: HostNames) -> Iterator[Problem]:
    source, to = hosts.find(flow.source), hosts.find(flow.to)
    for key, name, found in (("from", flow.source, source), ("to", flow.to, to)):
        if found is None:
            yield hosts.stranger(f"{place}.{key}", name, "a host or a group")
    if source and to:
        if len(source) > 1 and len(to) > 1 and len(source) != len(to):
            allowed = f"one host, or a group of {len(source)} hosts as in `from`"
            yield Problem(f"{place}.to", shown(flow.to), allowed, f"{flow.to} has {len(to)} hosts")
        elif any(a == b for a, b in hosts.pairs(source, to)):
            yield Problem(f"{place}.to", shown(flow.to), "another host than in `from`")
    for field in flow.plan_hosts:
        ends, before = {*(source or ()), *(to or ())}, set[str]()
        for number, name in enumerate(getattr(flow, field)):
            path = f"{place}.{field}[{number}]"
            yield from _host(path, name, hosts)
            found = hosts.find(name) or []
            if len(found) == 1 and found[0] in ends:
                yield Problem(path, shown(name), "a host that is neither in `from` nor in `to`")
            elif len(found) == 1 and found[0] in before:
                yield Problem(path, shown(name), "a host that is not named before")
            before.update(found)
    if flow.stop is not None and flow.stop <= flow.start:
        yield Problem(f"{place}.stop", shown(flow.stop), f"a time after the start, {flow.start}")


@_rule
def _variants(
    stacks: Mapping[str, Stack], utp: Mapping[str, Utp], profiles: Mapping[str, Profile]
) -> Iterator[Problem]:
    others = {
        "stacks": {*shipped.utps()},
        "utp": {*shipped.stacks(), *stacks},
        "profiles": frozenset[str](),
    }
    for kind, own, ships in (
        ("stacks", stacks, shipped.stacks()),
        ("utp", utp, shipped.utps()),
        ("profiles", profiles, shipped.profiles()),
    ):
        for name, table in own.items():
            path = join((kind, name, "base"))
            if table.base not in ships:
                yield unknown(path, table.base, "one that ships", ships)
            elif name in ships and table.base != name:
                allowed = f'"{name}", since one of this name ships'
                yield Problem(path, shown(table.base), allowed, "choose another name")
            elif name in ("inherit", "profile"):
                yield Problem(join((kind, name)), name, "a name that is no key word")
            elif name in others[kind]:
                what = "TCP stack" if kind == "utp" else "uTP configuration"
                allowed = f"a name that no {what} has: `transport` may mean either"
                yield Problem(join((kind, name)), shown(name), allowed, "choose another name")
    for name, profile in profiles.items():
        place = join(("profiles", name, "transport"))
        yield from _transport(profile.transport, place, _Transports(stacks, utp))


@_rule
def _ends(workloads: Mapping[str, Workload], stop: Stop) -> Iterator[Problem]:
    """A run that does not end by itself must say when it is cut off."""
    if "horizon" in stop.model_fields_set:
        return
    hint = 'write `[stop]` and `horizon = "60 s"`'
    allowed = "a time at which the run ends, since "
    for name, workload in workloads.items():
        if (
            isinstance(workload, Swarm)
            and workload.stop_after is None
            and any(population.replace for population in workload.populations.values())
        ):
            why = f"the peers of {name} are replaced for ever"
            yield Problem(
                "stop.horizon", MISSING, allowed + why, f"{hint}, or give it a stop_after"
            )
            return
    for workload in workloads.values():
        if isinstance(workload, Swarm):
            return
        if workload.ends:
            return
    why = "no workload ends by itself"
    yield Problem("stop.horizon", MISSING, allowed + why, f"{hint}, or give a transfer a size")
