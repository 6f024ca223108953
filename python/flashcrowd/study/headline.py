"""The first lines of a study's report: `[report]`.

Which numbers decide, over which part of the peers, and what each point is compared with. Nothing
here changes what is simulated, so it is no part of a study's fingerprint.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from flashcrowd.base import bounds, metrics, paths
from flashcrowd.base.errors import Problem, did_you_mean, nearest, one_of
from flashcrowd.base.metrics import CASE
from flashcrowd.base.units import Share, UnitError
from flashcrowd.scenario import placement
from flashcrowd.scenario.call import Call
from flashcrowd.scenario.download import Download
from flashcrowd.scenario.fields import Table, one_line
from flashcrowd.scenario.origin import Origin
from flashcrowd.scenario.problems import shown
from flashcrowd.scenario.scenario import Scenario
from flashcrowd.scenario.swarm import Swarm
from flashcrowd.study.sweep import Axis

MeasureText = Annotated[str, AfterValidator(lambda text: str(metrics.parse(text)))]
"""A measure in words, as `flashcrowd.base.metrics` reads them."""


def _setting(given: Any) -> Any:
    """A baseline that is no table: what one looks like."""
    if isinstance(given, str):
        allowed = 'a swept path and one of its values, as in { upload = "0 B/s" }'
        raise UnitError(allowed)
    return given


CaseText = Annotated[str, Field(min_length=1, max_length=40), one_line]
"""What a person calls a value of the sweep."""


class Headline(Table):
    """What a report of the study begins with."""

    headline: Annotated[list[MeasureText], Field(max_length=6)] = Field(default_factory=list)
    """Measures that decide, as in "p95 ping of bystander"; without, what the workloads suggest."""
    by: Literal["none", "group", "population"] = "none"
    """Whether measures of swarms are given for each group or population as well."""
    baseline: Annotated[dict[str, object], BeforeValidator(_setting)] = Field(default_factory=dict)
    """Swept path (or its end) to value, or `case` to one of `cases`: each point is compared with
    the one that has this value and is like it otherwise. Without, the first value of the first
    axis of the sweep."""
    matters: str | dict[str, str] = Field(default_factory=dict)
    """Smallest difference that matters: "5 %" of every measure, or a table of measure to a share or
    an amount, as in { "p95 ping" = "5 ms" }. Without, 5 %; of delays at least 5 ms, of shares that
    are lost at least 1 %."""
    cases: Annotated[list[CaseText], Field(max_length=100)] = Field(default_factory=list)
    """What to call the values of the first axis of the sweep, in their order: where several
    settings vary side by side, as in "server alone". Without, the values themselves."""


def problems_of(
    headline: Headline, scenarios: Sequence[Scenario], axes: Sequence[Axis]
) -> Iterator[Problem]:
    """Entries of `headline` on things that the study lacks.

    Args:
        headline: the table.
        scenarios: the situations that the study has; a measure must exist in one of them.
        axes: the sweep.
    """
    for index, text in enumerate(headline.headline):
        try:
            must_exist(metrics.parse(text), scenarios)
        except UnitError as error:
            place = paths.join(("report", "headline", index))
            yield Problem(place, shown(text), error.allowed, error.hint)
    yield from _matters_problems(headline.matters, scenarios)
    yield from setting_problems("report.baseline", headline.baseline, axes, headline.cases)
    yield from _case_problems(headline.cases, axes)


def _matters_problems(
    matters: str | dict[str, str], scenarios: Sequence[Scenario]
) -> Iterator[Problem]:
    """Whether each difference that matters is one of its measure, and each measure is there."""
    if isinstance(matters, str):
        try:
            Share(matters)
        except UnitError as error:
            yield Problem("report.matters", shown(matters), error.allowed, error.hint)
        return
    for measure, text in matters.items():
        place = paths.join(("report", "matters", measure))
        try:
            named = metrics.parse(measure)
            must_exist(named, scenarios)
        except UnitError as error:
            yield Problem(place, shown(measure), error.allowed, error.hint)
            continue
        try:
            bounds.smallest(text, named.metric)
        except UnitError as error:
            yield Problem(place, shown(text), error.allowed, error.hint)


def _case_problems(cases: Sequence[str], axes: Sequence[Axis]) -> Iterator[Problem]:
    """Whether each value of the first axis has a name of its own."""
    if not cases:
        return
    rows = len(next(iter(axes[0].values()), [])) if axes else 0
    if len(cases) != rows:
        allowed = f"as many names as the first axis of the sweep has values: {rows}"
        path, more = " and ".join(axes[0]) if axes else "", rows - len(cases)
        change = f"add {more} to cases" if more > 0 else f"take {-more} from cases"
        hint = f"the axis is {path}; {change}, or leave cases out" if rows else "leave cases out"
        yield Problem("report.cases", f"{len(cases)} names", allowed, hint)
    for index, name in enumerate(cases):
        if name in cases[:index]:
            place = paths.join(("report", "cases", index))
            yield Problem(place, shown(name), "each name once")


def without(
    document: dict[str, object], fixed: Iterable[str], axes: Sequence[Axis]
) -> dict[str, object]:
    """The document of a study whose report does not speak of paths that are no longer swept.

    Args:
        document: the content of a study file.
        fixed: paths that have one value now.
        axes: the sweep of the file, in which they still vary.
    """
    report = document.get("report")
    if not isinstance(report, dict):
        return document
    kept = dict(report)
    if isinstance(report.get("baseline"), dict):
        kept["baseline"] = {
            key: value
            for key, value in report["baseline"].items()
            if not any(path == key or path.endswith(f".{key}") for path in fixed)
        }
    if axes and set(axes[0]) <= set(fixed):
        kept.pop("cases", None)
        if isinstance(kept.get("baseline"), dict):
            kept["baseline"] = {k: value for k, value in kept["baseline"].items() if k != CASE}
    return {**document, "report": kept}


def must_exist(named: metrics.Named, scenarios: Sequence[Scenario]) -> None:
    """Whether the scenarios have what a measure is about.

    Raises:
        UnitError: they have not; says what there is.
    """
    kind = named.metric.kind
    if kind == "link":
        _must_be_link(named, scenarios)
        meant = []
    else:
        meant = _meant(named, scenarios)
    _must_have(named.metric, meant)
    if named.within and not named.metric.parts:
        allowed = one_of(metric.name for metric in metrics.METRICS if metric.parts)
        raise UnitError(f'with "in", a metric that groups and populations have: {allowed}')
    if named.within:
        parts = list(dict.fromkeys(_parts(scenarios, named.of)))
        if kind not in ("swarm", "origin") or named.within not in parts:
            raise metrics.unknown(named.within, parts, "a group or population of the swarm")


def _must_be_link(named: metrics.Named, scenarios: Sequence[Scenario]) -> None:
    """Whether one of the scenarios has a link, of this name if there is one.

    Raises:
        UnitError: none has; names those that there are.
    """
    if named.of and any(placement.is_link(it.network, named.of) for it in scenarios):
        return
    names = list(dict.fromkeys(name for it in scenarios for name in placement.links(it.network)))
    if not names:
        raise _nothing_of("link", scenarios)
    if named.of:
        raise metrics.unknown(named.of, names, "the name of a link, or of a host's line up or down")


def _meant(named: metrics.Named, scenarios: Sequence[Scenario]) -> list[tuple[Scenario, Any]]:
    """The workloads that a measure is about, each with its scenario.

    Raises:
        UnitError: there is none; says what there is.
    """
    kind = named.metric.kind
    workloads = [
        (name, scenario, workload)
        for scenario in scenarios
        for name, workload in scenario.workloads.items()
        if workload.kind in (kind, *named.metric.others)
        or (kind == "origin" and isinstance(workload, Swarm) and workload.reads_disks)
    ]
    if not workloads:
        raise _nothing_of(kind, scenarios)
    names = list(dict.fromkeys(name for name, _, _ in workloads))
    of = metrics.workload(named.of)
    if named.of and of not in names:
        raise metrics.unknown(named.of, names, f"the name of a {kind}")
    meant = [(scenario, it) for name, scenario, it in workloads if of in ("", name)]
    if of != named.of:
        ends = [end for scenario, it in meant for end in _ends(scenario, it)]
        allowed = list(dict.fromkeys(f"{of} from {end}" for end in ends)) or [of]
        if named.of not in allowed:
            raise metrics.unknown(
                named.of, allowed, f"a {kind}, a direction of a call, a server of a download"
            )
    return meant


def _nothing_of(kind: str, scenarios: Sequence[Scenario]) -> UnitError:
    kinds = {w.kind for scenario in scenarios for w in scenario.workloads.values()}
    linked = any(True for it in scenarios for _ in placement.links(it.network))
    known = [metric.name for metric in metrics.of_kinds([*kinds, *(["link"] if linked else [])])]
    return UnitError(f"a metric of what is there (no {kind} is); {one_of(known, 20)}")


NEEDED = ("web_seeds", "size", "flows", "hosts", "access")
"""Settings without which a workload lacks a metric of its kind, or a link is not there."""


def _must_have(metric: metrics.Metric, workloads: Sequence[tuple[Scenario, Any]]) -> None:
    """Whether any of the workloads has what a metric needs besides their kind.

    Raises:
        UnitError: none has; names the metric that is known without it.
    """
    if metric.name == "source upload" and not any(
        isinstance(it, Swarm) and it.web_seeds for _, it in workloads
    ):
        allowed = "a metric that a swarm without web seeds has"
        raise UnitError(allowed, 'what its seeds send is "seed upload"')
    if metric.name == "transfer time" and all(it.size is None for _, it in workloads):
        raise UnitError("a metric that a transfer without a size has", 'it has a "goodput"')
    if metric.name == "total goodput" and not any(
        it.flows * max(len(_hosts(scenario, end)) for end in (it.source, it.to)) > 1
        for scenario, it in workloads
    ):
        raise UnitError("a metric that a transfer of one flow has", 'it has a "goodput"')


def _ends(scenario: Scenario, workload: Any) -> list[str]:
    """The two hosts of a call, and the servers of a download."""
    if isinstance(workload, Call):
        named = [workload.source, workload.to]
    elif isinstance(workload, Download):
        named = [workload.source, *workload.mirrors]
    else:
        return []
    return [host for end in named for host in _hosts(scenario, end)]


def _hosts(scenario: Scenario, name: str) -> Sequence[str]:
    """The hosts that the end of a workload means, be it a group or a host."""
    group = scenario.network.groups.get(name)
    return [name] if group is None else [f"{name}-{it + 1}" for it in range(group.hosts)]


def _parts(scenarios: Sequence[Scenario], swarm: str) -> Iterator[str]:
    """Groups and populations of swarms that have this name, or of all."""
    for scenario in scenarios:
        yield from scenario.network.groups
        for name, workload in scenario.workloads.items():
            if isinstance(workload, Swarm | Origin) and swarm in ("", name):
                yield from workload.populations


def setting_problems(
    table: str, settings: dict[str, object], axes: Sequence[Axis], cases: Sequence[str]
) -> Iterator[Problem]:
    """Entries of a `table` (its path) of swept paths, or their ends, that are not swept.

    Where the first axis has `cases`, "case" may replace it.
    """
    swept = {path: values for axis in axes for path, values in axis.items()}
    for key, value in settings.items():
        place = f"{table}.{paths.join((key,))}"
        found = [path for path in swept if path == key or path.endswith(f".{key}")]
        if key == CASE and cases:
            if value not in cases:
                near = nearest(str(value), cases)
                hint = f"did you mean {shown(near)}?" if near else ""
                yield Problem(place, shown(value), one_of(map(shown, cases)), hint)
        elif len(found) > 1:
            allowed = "the end of one swept path alone"
            yield Problem(place, shown(key), allowed, f"name more of {one_of(found)}")
        elif not found:
            allowed = f"a swept path, or the end of one; swept: {one_of(swept)}"
            yield Problem(place, shown(key), allowed, did_you_mean(key, swept))
        elif value not in swept[found[0]]:
            values = [shown(each) for each in swept[found[0]]]
            near = nearest(shown(value), values)  # with its quotes, if it is a text
            hint = f"did you mean {near}?" if near else ""
            yield Problem(place, shown(value), one_of(values), hint)
