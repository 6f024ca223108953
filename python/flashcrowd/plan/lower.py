"""From a scenario to a plan: units become SI numbers, names become indices, nothing is drawn."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, get_args

from flashcrowd.base.errors import Problem, StudyError
from flashcrowd.base.kept import Kept
from flashcrowd.base.words import Windowed
from flashcrowd.plan import types
from flashcrowd.plan.connections import lower_connections
from flashcrowd.plan.network import lower_network, stacks_of
from flashcrowd.plan.network import weight as weight_of_network
from flashcrowd.plan.parts import FORMAT
from flashcrowd.plan.plan import Plan
from flashcrowd.plan.timeline import lower_timeline
from flashcrowd.plan.traces import Pending, indexed
from flashcrowd.plan.types import Capture, Change, Measures, Settings, Stop
from flashcrowd.plan.workloads import Used, by_workload, lower_workloads
from flashcrowd.plan.workloads import weight as weight_of_workloads
from flashcrowd.scenario.capture import Capture as CaptureTable
from flashcrowd.scenario.check import check
from flashcrowd.scenario.hosts import HostNames, Sizes, sizes_of
from flashcrowd.scenario.measures import Measures as MeasuresTable
from flashcrowd.scenario.measures import Stop as StopTable
from flashcrowd.scenario.measures import Window
from flashcrowd.scenario.mirror import to_plan
from flashcrowd.scenario.profile import Profile
from flashcrowd.scenario.scenario import Scenario, profile_of, stack_of, utp_of
from flashcrowd.scenario.stack import Stack
from flashcrowd.scenario.utp import Utp
from flashcrowd.scenario.workloads import Workload


def lower(scenario: Scenario, kept: Kept | None = None) -> Plan:
    """The plan of a scenario. The same scenario always gives the same plan.

    Args:
        scenario: what to lower.
        kept: what was lowered for scenarios that share tables with this one.

    Raises:
        StudyError: references or combinations in the scenario are impossible.
    """
    kept = kept or Kept()
    problems = kept.found(check, scenario, kept)
    if problems:
        raise StudyError(problems, scenario.title)
    data = _lower_start(scenario, kept)
    if scenario.timeline:
        changes, problems = _timeline(scenario, data)
        if problems:
            raise StudyError(problems, scenario.title)
        data["network"], data["timeline"] = indexed(data["network"], changes)
    return Plan(data, kept)


def wrong_with(scenario: Scenario, kept: Kept) -> list[Problem]:
    """Why a scenario cannot be lowered; nothing if it can."""
    problems = kept.found(check, scenario, kept)
    if problems or not scenario.timeline:
        return problems
    return _timeline(scenario, _lower_start(scenario, kept))[1]


def _timeline(scenario: Scenario, start: types.Plan) -> tuple[list[Pending], list[Problem]]:
    def revised(scenario: Scenario) -> types.Plan:
        return _lower_start(scenario, Kept())  # its tables are its own, and are not met again

    return lower_timeline(
        scenario, start, revised, by_workload(scenario.workloads, start["workloads"])
    )


def _lower_start(scenario: Scenario, kept: Kept) -> types.Plan:
    """The plan at the start, without its timeline.

    The maker of a part of it sees the tables that decide the part, and nothing else.
    """
    network, workloads = scenario.network, scenario.workloads
    sizes, used = kept.found(sizes_of, network, kept), used_by(scenario, kept)
    lowered = kept.made(lower_workloads, workloads, sizes, used, weight=weight_of_workloads)
    return {
        "format": FORMAT,
        "title": scenario.title,
        "network": kept.made(lower_network, network, kept, weight=weight_of_network),
        "stacks": kept.made(_stacks, used, scenario.stacks),
        "utps": kept.made(_utps, used, scenario.utp),
        "profiles": kept.made(_profiles, used, scenario.profiles),
        "workloads": lowered,
        "timeline": kept.made(_no_changes),
        "measures": kept.made(_measures, scenario.measures, workloads, lowered, sizes),
        "stop": kept.made(_stop, scenario.stop),
    }


def _no_changes() -> list[Change]:
    return []


def used_by(scenario: Scenario, kept: Kept) -> Used:
    """The variants that a scenario uses; one object for all scenarios that use the same."""
    of_hosts = kept.found(stacks_of, scenario.network, kept)
    own = scenario.stacks, scenario.profiles
    return kept.found(_used, scenario.workloads, of_hosts, *own, kept)


def _used(
    workloads: Mapping[str, Workload],
    of_hosts: tuple[str, ...],
    stacks: Mapping[str, Stack],
    profiles: Mapping[str, Profile],
    kept: Kept,
) -> Used:
    return kept.same(Used.by(workloads, of_hosts, stacks, profiles))


def _stacks(used: Used, own: Mapping[str, Stack]) -> list[Settings]:
    return _named((name, stack_of(own, name)) for name in used.stacks)


def _utps(used: Used, own: Mapping[str, Utp]) -> list[Settings]:
    return _named((name, utp_of(own, name)) for name in used.utps)


def _profiles(used: Used, own: Mapping[str, Profile]) -> list[Settings]:
    return _named((name, profile_of(own, name)) for name in used.profiles)


def _named(tables: Iterable[tuple[str, Any]]) -> list[Settings]:
    """Variants with their names, as the plan has them."""
    return [{"name": name, **to_plan(table)} for name, table in tables]


def _measures(
    measures: MeasuresTable,
    workloads: Mapping[str, Workload],
    lowered: list[types.Workload],
    sizes: Sizes,
) -> Measures:
    hosts, logged = HostNames(sizes), None
    if measures.connections is not None:
        logged = lower_connections(measures.connections, workloads, lowered, hosts)
    made: Measures = {
        "series": [{"what": what, "every_ns": every.ns} for what, every in measures.series.items()],
        "pieces_ns": measures.pieces.ns if measures.pieces else None,
        "queues_ns": measures.queues.ns if measures.queues else None,
        "send_gaps": measures.send_gaps,
        "payloads": measures.payloads,
        "rtts": measures.rtts,
        "unchokes": measures.unchokes,
        "packets_ns": measures.packets.ns if measures.packets else None,
        "have": measures.have,
        "windows": [
            {
                "table": table,
                "from_ns": window.begin.ns,
                "to_ns": None if window.to is None else window.to.ns,
            }
            for table in get_args(Windowed)
            if (window := measures.window_of(table)) != Window()
            # A plan without an origin says nothing of origins.
            and (table != "origins" or any(it.kind == "origin" for it in workloads.values()))
        ],
        "connections": logged,
    }
    return _with_capture(made, measures.capture, hosts)


def _with_capture(measures: Measures, capture: CaptureTable | None, hosts: HostNames) -> Measures:
    """A plan without a capture says nothing of it."""
    if capture is None:
        return measures
    names = {host for name in capture.hosts for host in hosts.find(name) or ()}
    lowered: Capture = {
        "hosts": sorted(hosts.index[name] for name in names),
        "from_ns": capture.begin.ns,
        "to_ns": None if capture.to is None else capture.to.ns,
        "snap_bytes": None if capture.snap is None else int(capture.snap.bytes),
    }
    return {**measures, "capture": lowered}


def _stop(stop: StopTable) -> Stop:
    return {"horizon_ns": stop.horizon.ns, "stall_ns": stop.stall.ns}
