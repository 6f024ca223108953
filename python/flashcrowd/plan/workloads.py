"""Lowers the workloads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NotRequired, TypedDict, cast

from flashcrowd.plan import types
from flashcrowd.scenario.arrivals import Arrivals, FlashCrowd, Poisson, Rates
from flashcrowd.scenario.distribution import SessionDistribution
from flashcrowd.scenario.flows import Flow
from flashcrowd.scenario.hosts import HostNames, Sizes
from flashcrowd.scenario.members import members
from flashcrowd.scenario.mirror import to_plan
from flashcrowd.scenario.origin import Clients, Origin
from flashcrowd.scenario.profile import Profile
from flashcrowd.scenario.reflectors import reflectors
from flashcrowd.scenario.scenario import default_transport, stack_of, transports_of
from flashcrowd.scenario.stack import Stack
from flashcrowd.scenario.swarm import (
    WITHOUT_UTP,
    Departure,
    Population,
    Swarm,
    Tracker,
)
from flashcrowd.scenario.upload_control import CONTROLLERS
from flashcrowd.scenario.workloads import Workload


@dataclass(frozen=True)
class Used:
    """The names of the variants that a plan uses, by index: those of hosts, then of workloads."""

    stacks: tuple[str, ...]
    utps: tuple[str, ...]
    profiles: tuple[str, ...]
    defaults: tuple[str, ...]
    """The default transport of a client of each profile."""
    with_utp: tuple[bool, ...]
    """Whether that is uTP."""

    @classmethod
    def by(
        cls,
        workloads: Mapping[str, Workload],
        hosts: Iterable[str],
        own: Mapping[str, Stack],
        clients: Mapping[str, Profile],
    ) -> Used:
        """The transports and TCP stacks that workloads use.

        Args:
            workloads: what happens.
            hosts: the TCP stacks of hosts.
            own: stacks of the scenario.
            clients: client profiles of the scenario.
        """
        stacks, utps = dict.fromkeys(hosts), dict[str, None]()
        for name in transports_of(workloads, clients):
            (utps if stack_of(own, name) is None else stacks)[name] = None
        swarms = [workload for workload in workloads.values() if isinstance(workload, Swarm)]
        named = (it.profile for swarm in swarms for it in swarm.populations.values())
        profiles = tuple(dict.fromkeys(named))
        defaults = tuple(default_transport(clients, name) for name in profiles)
        utp = tuple(name != "inherit" and stack_of(own, name) is None for name in defaults)
        return cls(tuple(stacks), tuple(utps), profiles, defaults, utp)

    @cached_property
    def _carriers(self) -> dict[str, types.TransportChoice]:
        return {
            **{name: {"utp": index} for index, name in enumerate(self.utps)},
            **{name: {"tcp": index} for index, name in enumerate(self.stacks)},
        }

    def carrier(self, name: str | None) -> types.TransportChoice | None:
        """The transport of a connection in the plan, by the name in the scenario."""
        return None if name in (None, "inherit") else self._carriers[name]

    def profile(self, name: str) -> int:
        """The index of a client profile."""
        return self.profiles.index(name)


def lower_workloads(
    workloads: Mapping[str, Workload], sizes: Sizes, used: Used
) -> list[types.Workload]:
    """The workloads of a plan."""
    hosts, lowered = HostNames(sizes), list[types.Workload]()
    for name, workload in workloads.items():
        if isinstance(workload, Swarm):
            lowered.append(_swarm(name, workload, hosts, used, workloads))
        elif isinstance(workload, Origin):
            lowered.append(_origin(name, workload, hosts, used))
        else:
            lowered.extend(_flows(name, workload, hosts, used))
    _connect_web_seeds(workloads, lowered)
    return lowered


def _connect_web_seeds(
    workloads: Mapping[str, Workload], lowered: Iterable[types.Workload]
) -> None:
    """Swarms name their web seeds by index; those without any have no such key."""
    index = {it["name"]: number for number, it in enumerate(lowered) if it["kind"] == "origin"}
    for made in lowered:
        workload = workloads.get(made["name"])
        if isinstance(workload, Swarm) and workload.web_seeds and made["kind"] == "swarm":
            made["web_seeds"] = [
                {"origin": index[it.origin], "file": it.file} for it in workload.web_seeds
            ]


def weight(lowered: list[types.Workload]) -> int:
    """The size of a plan's workloads, in hosts: a flow counts as half, a peer as a fiftieth."""
    many = (each["populations"] for each in lowered if "populations" in each)
    peers = sum(len(it["hosts"]) for populations in many for it in populations)
    return 1 + len(lowered) // 2 + peers // 50


def _swarm(
    name: str,
    swarm: Swarm,
    hosts: HostNames,
    used: Used,
    workloads: Mapping[str, Workload],
) -> types.SwarmWorkload:
    chosen = _members(swarm.populations, hosts)
    populations: list[types.Population] = [
        {
            **_population(each, population, chosen[each], used),
            **_controlled(population, swarm, workloads, hosts),
        }
        for each, population in swarm.populations.items()
    ]
    return {
        "kind": "swarm",
        "name": name,
        "size_bytes": swarm.size.bytes,
        "piece_bytes": swarm.piece.bytes,
        "block_bytes": swarm.block.bytes,
        "tracker": _tracker(swarm.tracker, hosts),
        "populations": populations,
        "stop_after_completions": swarm.stop_after,
    }


def _tracker(tracker: Tracker, hosts: HostNames) -> types.Tracker:
    rules = to_plan(tracker)
    delay_ns = rules.pop("answer_delay_ns")
    host = rules.pop("host")
    program = rules.pop("program")
    made: types.Tracker = {
        "host": None if host is None else _one(host, hosts),
        "answer_delay_ns": delay_ns,
        "rules": cast("types.TrackerRules", rules),
    }
    if program != "flashcrowd":
        made["program"] = program
    return made


def _population(
    name: str,
    population: Population,
    chosen: list[int],
    used: Used,
) -> types.Population:
    profile = used.profile(population.profile)
    transport = used.carrier(population.opens(used.defaults[profile]))
    data = used.carrier(population.data_transport)
    has_utp = used.with_utp[profile] and population.program not in WITHOUT_UTP
    silent: _Unusual = {} if has_utp or _over_utp(transport) or _over_utp(data) else SILENT
    made: types.Population = {
        "name": name,
        "role": population.role,
        "hosts": chosen,
        "profile": profile,
        "transport": transport,
        "data": data,
        **silent,
        "upload_bps": None if population.upload is None else population.upload.bps,
        "arrivals": _arrivals(population.arrivals),
        "departure": _departure(population.departure),
        "replace": population.replace,
    }
    if population.storage is not None:
        made["storage"] = cast("types.Storage", to_plan(population.storage))
    if population.program != "libtorrent":  # the usual one is not named
        made["program"] = population.program
    return made


def _over_utp(carrier: types.TransportChoice | None) -> bool:
    return carrier is not None and "utp" in carrier


class _Unusual(TypedDict):
    answers_utp: NotRequired[bool]
    upload_control: NotRequired[types.ControlledUpload]


SILENT: _Unusual = {"answers_utp": False}
"""The keys of clients without uTP, and of no others."""


def _members(
    populations: Mapping[str, Population] | Mapping[str, Clients], hosts: HostNames
) -> dict[str, list[int]]:
    """The hosts of each population, by index."""
    found = members(populations, hosts)
    return {name: [hosts.index[host] for host in one.hosts] for name, one in found.items()}


def _origin(name: str, origin: Origin, hosts: HostNames, used: Used) -> types.OriginWorkload:
    made = to_plan(origin)
    scheduling = ("block_bytes", "extent_bytes", "memory_bytes", "reads", "patience_ns")
    chosen = _members(origin.populations, hosts)
    lowered = {
        **{key: value for key, value in made.items() if key not in (*scheduling, "policy")},
        "name": name,
        "host": _one(origin.host, hosts),
        "transport": used.carrier(origin.transport),
        "settings": {**{key: made[key] for key in scheduling}, "scheduling": made["policy"]},
        "populations": [
            {
                "name": each,
                "hosts": chosen[each],
                "in_order": clients.in_order,
                "arrivals": _arrivals(clients.arrivals),
            }
            for each, clients in origin.populations.items()
        ],
    }
    return cast("types.OriginWorkload", lowered)


def _controlled(
    population: Population, swarm: Swarm, workloads: Mapping[str, Workload], hosts: HostNames
) -> _Unusual:
    """A population's upload controller; no key without one."""
    control = population.upload_control
    if control is None:
        return {}
    made = to_plan(control)
    keys = [parameter["name"] for parameter in CONTROLLERS[control.name]["parameters"]]
    found = reflectors(population, swarm, workloads, hosts)
    return {
        "upload_control": {
            "controller": {"kind": control.name, **{key: made[key] for key in keys}},
            "reflectors": [hosts.index[host] for host in found],
            "probe_bytes": made["probe_size_bytes"],
            "start_spread_ns": made["start_spread_ns"],
            "lateness_ns": made["lateness_ns"],
            "poll_ns": made["poll_ns"],
            "interface": made["interface"],
        }
    }


def _arrivals(arrivals: Arrivals) -> types.Arrivals:
    if isinstance(arrivals, FlashCrowd):
        return {
            "kind": "flash-crowd",
            "start_ns": arrivals.start.ns,
            "spread_ns": arrivals.spread.ns,
        }
    if isinstance(arrivals, Poisson):
        return {"kind": "poisson", "start_ns": arrivals.start.ns, "gap_ns": arrivals.gap.ns}
    if isinstance(arrivals, Rates):
        steps: list[types.RateStep] = [
            {"at_ns": at.ns, "per_s": rate / 3600} for at, rate in arrivals.per_hour
        ]
        period = arrivals.period
        return {"kind": "rates", "steps": steps, "period_ns": period.ns if period else None}
    at_ns = [span.ns for span in arrivals.at]
    if not any(arrivals.leave):
        return {"kind": "times", "at_ns": at_ns}
    leave_ns = [span.ns if span else None for span in arrivals.leave]
    return {"kind": "sessions", "at_ns": at_ns, "leave_ns": leave_ns}


def _departure(departure: Departure) -> types.Departure:
    if isinstance(departure, SessionDistribution):
        points = [(fraction.value, stay.seconds) for fraction, stay in departure.points]
        return {"kind": "session", "stay_s": points}
    return cast("types.Departure", to_plan(departure))


def _flows(name: str, flow: Flow, hosts: HostNames, used: Used) -> list[types.Workload]:
    """The workloads of a plan that are one of a scenario, one for each pair of hosts.

    Its keys are those of the scenario, with units, by the rules of `mirror`.
    """
    made = {flow.plan_keys.get(key, key): value for key, value in to_plan(flow).items()}
    if flow.carried_by is not None:
        made["transport"] = used.carrier(flow.carried_by)
    for field in flow.plan_hosts:
        made[field] = [_one(host, hosts) for host in getattr(flow, field)]
    if made.get("program") == "live":  # the usual one is not named, as of populations
        del made["program"]
    return [cast("types.Workload", {**made, **it}) for it in _pairs(name, flow, hosts)]


_Pair = TypedDict("_Pair", {"name": str, "from": int, "to": int})


def _pairs(name: str, flow: Flow, hosts: HostNames) -> list[_Pair]:
    """Name and ends of each flow: the workload's name, with a number where there are several."""
    source, to = hosts.find(flow.source), hosts.find(flow.to)
    if source is None or to is None:
        raise KeyError(f"{flow.source} or {flow.to}")  # the checks come first
    pairs = hosts.pairs(source, to)
    return [
        {
            "name": name if len(pairs) == 1 else f"{name}-{number}",
            "from": hosts.index[a],
            "to": hosts.index[b],
        }
        for number, (a, b) in enumerate(pairs, 1)
    ]


def by_workload(names: Iterable[str], lowered: list[types.Workload]) -> dict[str, list[int]]:
    """The indices in the plan of each workload of the scenario, by its name."""
    indices = {name: [] for name in names}
    for index, workload in enumerate(lowered):
        name = workload["name"]
        indices[name if name in indices else name.rpartition("-")[0]].append(index)
    return indices


def _one(name: str, hosts: HostNames) -> int:
    found = hosts.find(name)
    if found is None or len(found) != 1:
        raise KeyError(name)  # the checks come first
    return hosts.index[found[0]]
