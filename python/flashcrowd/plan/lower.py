"""From a scenario to a plan: units become SI numbers, names become indices, nothing is drawn."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from typing import Any, get_args

from flashcrowd.errors import Problem, StudyError
from flashcrowd.plan.connections import lower_connections
from flashcrowd.plan.format import FORMAT, Capture, Measures, PlanDict, Stop
from flashcrowd.plan.kept import Kept
from flashcrowd.plan.network import lower_network, stacks_of, weight
from flashcrowd.plan.plan import Plan
from flashcrowd.plan.timeline import lower_timeline
from flashcrowd.plan.traces import indexed
from flashcrowd.plan.workloads import by_workload, lower_flow, lower_swarm
from flashcrowd.scenario.capture import Capture as CaptureTable
from flashcrowd.scenario.check import check
from flashcrowd.scenario.hosts import HostNames
from flashcrowd.scenario.measures import Measures as MeasuresTable
from flashcrowd.scenario.measures import Stop as StopTable
from flashcrowd.scenario.measures import Window, Windowed
from flashcrowd.scenario.mirror import to_plan
from flashcrowd.scenario.scenario import Scenario
from flashcrowd.scenario.swarm import Swarm


def lower(scenario: Scenario, kept: Kept | None = None) -> Plan:
    """The plan of a scenario. The same scenario always gives the same plan.

    Args:
        scenario: what to lower.
        kept: what was lowered for scenarios that share tables with this one.

    Raises:
        StudyError: references or combinations in the scenario are impossible.
    """
    kept = kept or Kept()
    problems = kept.made(check, scenario, weight=0)
    if problems:
        raise StudyError(problems, scenario.title)
    data = _lower_start(scenario, kept)
    data["timeline"], problems = _timeline(scenario, data, kept)
    if problems:
        raise StudyError(problems, scenario.title)
    data["network"] = indexed(data["network"], data["timeline"])
    return Plan(data, kept)


def wrong_with(scenario: Scenario, kept: Kept) -> list[Problem]:
    """Why a scenario cannot be lowered; nothing if it can."""
    problems = kept.made(check, scenario, weight=0)
    if problems or not scenario.timeline:
        return problems
    return _timeline(scenario, _lower_start(scenario, kept), kept)[1]


def _timeline(
    scenario: Scenario, start: PlanDict, kept: Kept
) -> tuple[list[dict[str, Any]], list[Problem]]:
    def revised(scenario: Scenario) -> PlanDict:
        return _lower_start(scenario, kept)

    return lower_timeline(scenario, start, revised, by_workload(scenario, start["workloads"]))


class _Used:
    """Indices of named variants in the order in which they are first used."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        self.index = {name: index for index, name in enumerate(names)}

    def __call__(self, name: str) -> int:
        return self.index.setdefault(name, len(self.index))


def _lower_start(scenario: Scenario, kept: Kept) -> PlanDict:
    """The plan at the start, without its timeline."""
    stacks, utps, profiles = _Used(stacks_of(scenario.network)), _Used(), _Used()
    hosts = HostNames(scenario.network)

    def carrier(name: str | None) -> dict[str, int] | None:
        if name in (None, "inherit"):
            return None
        return {"utp": utps(name)} if scenario.stack(name) is None else {"tcp": stacks(name)}

    network = kept.made(lower_network, scenario.network, kept, weight=weight(scenario.network))
    workloads: list[dict[str, Any]] = []
    for name, workload in scenario.workloads.items():
        if isinstance(workload, Swarm):
            workloads.append(lower_swarm(name, workload, hosts, profiles, carrier))
        else:
            workloads.extend(lower_flow(name, workload, hosts, carrier))

    def named(name: str, table: Any) -> dict[str, Any]:
        return kept.made(_named(name), table)

    measures: Measures = kept.made(_measures, scenario.measures)
    if scenario.measures.connections is not None:
        logged = lower_connections(scenario.measures.connections, scenario, workloads, hosts)
        measures = {**measures, "connections": logged}
    return {
        "format": FORMAT,
        "title": scenario.title,
        "network": network,
        "stacks": [named(name, scenario.stack(name)) for name in stacks.index],
        "utps": [named(name, scenario.utp_of(name)) for name in utps.index],
        "profiles": [named(name, scenario.profile(name)) for name in profiles.index],
        "workloads": workloads,
        "timeline": [],
        "measures": _with_capture(measures, scenario.measures.capture, hosts),
        "stop": kept.made(_stop, scenario.stop),
    }


@cache
def _named(name: str) -> Callable[[Any], dict[str, Any]]:
    """Lowers a stack, a uTP configuration or a client profile of this name."""
    return lambda table: {"name": name, **to_plan(table)}


def _measures(measures: MeasuresTable) -> Measures:
    return {
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
        ],
        "connections": None,
    }


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
