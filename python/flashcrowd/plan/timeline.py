"""Lowers the timeline: what differs between the scenario before and after each change.

A change is applied to the scenario as if a person had written the new value there; the scenario is
lowered again, and what is now different in the plan becomes the plan's changes. So a change means
the same as the value itself, and what cannot change in place is found without a list of rules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from pydantic import ValidationError

from flashcrowd.base import paths
from flashcrowd.base.errors import Problem, did_you_mean
from flashcrowd.plan import types
from flashcrowd.plan.traces import Pending, trace_of
from flashcrowd.scenario.check import check
from flashcrowd.scenario.problems import problems_of, shown, unknown
from flashcrowd.scenario.scenario import Scenario
from flashcrowd.scenario.timeline import Change, Halt

CHANGEABLE = (
    "what can change in place: a rate, queue, delay, jitter, loss or framing of a link, an access "
    "line or a path, the upload limit of a population, the limit of a transfer"
)

Lower = Callable[[Scenario], types.Plan]


def lower_timeline(
    scenario: Scenario, start: types.Plan, lower: Lower, workloads: dict[str, list[int]]
) -> tuple[list[Pending], list[Problem]]:
    """The changes of a plan in order of time, and what is wrong with them.

    Where a link follows a trace from then on, the change has the whole of it: see `plan.traces`.

    Args:
        scenario: whose timeline it is.
        start: its plan before any change.
        lower: lowers a scenario, all but its timeline.
        workloads: the indices in the plan of each workload.
    """
    changes: list[Pending] = []
    problems: list[Problem] = []
    for name, event in sorted(scenario.timeline.items(), key=lambda item: item[1].at.ns):
        place = paths.join(("timeline", name))
        if event.at > scenario.stop.horizon:
            allowed = f"a time up to the end of the run, {scenario.stop.horizon}"
            problems.append(Problem(f"{place}.at", shown(str(event.at)), allowed))
        if isinstance(event, Halt):
            if event.stop not in workloads:
                problems.append(unknown(f"{place}.stop", event.stop, "a workload", workloads))
            kinds = [{"kind": "stop", "workload": it} for it in workloads.get(event.stop, [])]
        else:
            revised, found = _revised(scenario, event, place)
            after = lower(revised) if revised else start
            kinds = differences(start, after)
            if kinds is None:
                gained = _fixed(start)["network"]["rated"] != _fixed(after)["network"]["rated"]
                hint = "a link neither gains nor loses its rate while it runs" if gained else ""
                found = [Problem(f"{place}.change", shown(event.change), CHANGEABLE, hint)]
            elif revised:
                scenario, start = revised, after
            problems.extend(found)
        changes.extend({"at_ns": event.at.ns, **kind} for kind in kinds or [])
    return changes, problems


def _revised(
    scenario: Scenario, event: Change, place: str
) -> tuple[Scenario | None, list[Problem]]:
    """The scenario with the new value, or what is wrong with it."""
    document = scenario.model_dump(mode="json", by_alias=True)
    segments = paths.parse(event.change)
    if segments is None or segments[0] not in ("network", "workloads"):
        hint = "it begins with `network.` or `workloads.`"
        return None, [Problem(f"{place}.change", shown(event.change), CHANGEABLE, hint)]
    try:
        paths.look_up(document, segments)
    except KeyError:
        every = [paths.join(path) for path in paths.leaves(document)]
        hint = did_you_mean(event.change, every)
        allowed = "the dotted path of a value in this study"
        return None, [Problem(f"{place}.change", shown(event.change), allowed, hint)]
    document = paths.replaced(document, segments, event.to)
    try:
        revised = Scenario.model_validate(document)
    except ValidationError as error:
        found = problems_of(error, Scenario, document)
    else:
        old = check(scenario)
        found = [problem for problem in check(revised) if problem not in old]
        if not found:
            return revised, []
    return None, [Problem(f"{place}.to", it.value, it.allowed, it.hint) for it in found]


def differences(before: types.Plan, after: types.Plan) -> list[Pending] | None:
    """The changes in place that lead from one plan to another; `None` if there are none such."""
    changes = [*_network_changes(before, after), *_workload_changes(before, after)]
    return changes if _same_but_for(before, after) else None


def _network_changes(before: types.Plan, after: types.Plan) -> Iterator[Pending]:
    for kind, key in (("link", "links"), ("core", "cores")):
        pairs = zip(before["network"][key], after["network"][key], strict=False)
        for index, (old, new) in enumerate(pairs):
            was, now = trace_of(before["network"], old), trace_of(after["network"], new)
            if old["conditions"] != new["conditions"] or was != now:
                followed = {} if now is None else {"trace": now}
                yield {"kind": kind, kind: index, "conditions": new["conditions"], **followed}


def _workload_changes(before: types.Plan, after: types.Plan) -> Iterator[Pending]:
    pairs = zip(before["workloads"], after["workloads"], strict=False)
    for index, (old, new) in enumerate(pairs):
        if old["kind"] == "swarm" and new["kind"] == "swarm":
            populations = zip(old["populations"], new["populations"], strict=False)
            for number, (was, now) in enumerate(populations):
                if was["upload_bps"] != now["upload_bps"]:
                    yield {
                        "kind": "upload",
                        "workload": index,
                        "population": number,
                        "upload_bps": now["upload_bps"],
                    }
        if (
            old["kind"] == "transfer"
            and new["kind"] == "transfer"
            and old["rate_bps"] != new["rate_bps"]
        ):
            yield {"kind": "transfer-rate", "workload": index, "rate_bps": new["rate_bps"]}


def _same_but_for(before: types.Plan, after: types.Plan) -> bool:
    """Whether two plans are equal in all that cannot change during a run."""
    return _fixed(before) == _fixed(after)


def _fixed(plan: types.Plan) -> types.Settings:
    network = plan["network"]
    rated = [
        link["conditions"]["rate_bps"] is not None or link.get("trace") is not None
        for link in network["links"]
    ]
    return {
        **plan,
        "title": "",
        "network": {
            **network,
            "links": [(link["name"], link["delay"]) for link in network["links"]],
            "rated": rated,
            "traces": [],
            "cores": [(core["links"], core["draw"]) for core in network["cores"]],
        },
        "workloads": [_without_limits(workload) for workload in plan["workloads"]],
    }


def _without_limits(workload: types.Workload) -> types.Settings:
    fixed: types.Settings = {key: it for key, it in workload.items() if key != "rate_bps"}
    if "populations" in fixed:
        fixed["populations"] = [
            {key: value for key, value in population.items() if key != "upload_bps"}
            for population in fixed["populations"]
        ]
    return fixed
