"""What a drawing of a network shows: groups, the links between them, and their workloads.

Read from a resolved study; nothing here knows its place on paper.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from flashcrowd.base.units import Span
from flashcrowd.diagram.curve import Curve, curve, is_trace
from flashcrowd.diagram.swept import VARIES, counted, unfixed

#: Values that are not worth a line.
_NOTHING = (None, "none", "0 ms", "0 s", "0 B", "0 %", "inherit", "unlimited", [], {})


@dataclass(frozen=True)
class Task:
    """The role of a group's hosts in a workload.

    Attributes:
        workload: name of the workload.
        text: in words, with the workload's name.
    """

    workload: str
    text: str


@dataclass
class Box:
    """A group of hosts, or something that lies between groups.

    Attributes:
        kind: ``group``, ``link``, ``path`` or ``rest``.
        name: as the study calls it.
        title: first line.
        lines: its description.
        tasks: for a group, what its hosts do.
        side: for a group, less than zero if it rather sends, more if it rather receives.
        curves: what its lines or directions carry over time, where traces say so.
    """

    kind: str
    name: str
    title: str
    lines: list[str]
    tasks: list[Task] = field(default_factory=list)
    side: int = 0
    curves: list[Curve] = field(default_factory=list)


@dataclass(frozen=True)
class Diagram:
    """A network with its workloads.

    Attributes:
        groups: the groups of hosts, in order of the study.
        between: shared links, paths and what holds for all other pairs of groups.
        edges: (index of a group, index of what lies between) wherever its packets go that way.
        chained: pairs of shared links that a path crosses one after the other.
        workloads: names, in order of the study.
        changes: instant in seconds and what changes, in order of time.
        swept: what the study varies, in words.
    """

    groups: list[Box]
    between: list[Box]
    edges: list[tuple[int, int]]
    chained: list[tuple[int, int]]
    workloads: list[str]
    changes: list[tuple[float, str]]
    swept: list[str]


def read(study: Mapping[str, object]) -> Diagram:
    """The diagram of a resolved study."""
    study = unfixed(study)
    network = study["network"]
    groups = [_group(name, table) for name, table in network["groups"].items()]
    names = [group.name for group in groups]
    between, edges, chained = _between(network, groups, names)
    for name, workload in study.get("workloads", {}).items():
        for place, side, text in _tasks(name, workload, names):
            groups[place].tasks.append(Task(name, text))
            groups[place].side += side
    for path in network.get("paths", {}).values():
        one, other = (names.index(name) for name in path["between"])
        groups[one].side -= 2 * (one != other)
        groups[other].side += 2 * (one != other)
    changes = sorted((seconds(c["at"]), _change(c)) for c in study.get("timeline", {}).values())
    sweep = study.get("sweep") or []
    swept = [
        f"{path}: {', '.join(_value(value) for value in values)}"
        for axis in ([sweep] if isinstance(sweep, Mapping) else sweep)
        for path, values in axis.items()
    ]
    workloads = list(study.get("workloads", {}))
    return Diagram(groups, between, edges, chained, workloads, changes, swept)


def seconds(text: object) -> float:
    """A span of the study, ``"1.5 min"``, in seconds."""
    return Span(str(text)).ns / 1e9


def _group(name: str, table: Mapping[str, Any]) -> Box:
    lines: list[str] = []
    curves: list[Curve] = []
    access = table.get("access")
    if isinstance(access, Mapping):
        lines.extend(_access(access, curves))
    elif access == VARIES:
        lines.append(f"line {VARIES}")
    else:
        lines.append("no line limit")
    devices = table.get("devices")
    if isinstance(devices, Mapping):
        parts = [f"{key} {value}" for key, value in devices.items() if value not in _NOTHING]
        lines.append("devices: " + (", ".join(parts) or "no delay"))
    at = table.get("at") or []
    if at:
        at = [at] if isinstance(at, str) else at
        more = f" and {len(at) - 3} more" if len(at) > 3 else ""
        lines.append(f"at {', '.join(map(str, at[:3]))}{more}")
    if table.get("stack") not in _NOTHING:
        lines.append(f"TCP {table['stack']}")
    title = f"{name} · {counted(table.get('hosts', 1), 'host')}"
    return Box("group", name, title, lines, curves=curves)


def _access(access: Mapping[str, object], curves: list[Curve]) -> Iterator[str]:
    if access.get("line") not in _NOTHING:
        yield f"line {access['line']}"
    for arrow, way in (("↑", "up"), ("↓", "down")):
        queue = access.get(f"{way}_queue")
        rate = access.get(way)
        limited = rate not in _NOTHING
        rate = _rate(rate, access, arrow, curves)
        kept = f", queue {_value(queue)}" if limited and queue not in _NOTHING else ""
        yield f"{arrow} {rate if limited else 'unlimited'}{kept}"
    yield from (f"{it} each way" for it in _also(access, ("delay",)))
    yield from _also(access, ("jitter", "loss"))


def _also(
    table: Mapping[str, object], names: Sequence[str] = ("delay", "jitter", "loss")
) -> list[str]:
    texts = {key: _value(table[key]) for key in names if table.get(key) not in _NOTHING}
    found = [f"{key} {text}" for key, text in texts.items() if text not in _NOTHING]
    return [", ".join(found)] if found else []


def _between(
    network: Mapping[str, Any], groups: Sequence[Box], names: Sequence[str]
) -> tuple[list[Box], list[tuple[int, int]], list[tuple[int, int]]]:
    between = [_link(name, link) for name, link in network.get("links", {}).items()]
    places = {box.name: place for place, box in enumerate(between)}
    edges: list[tuple[int, int]] = []
    chained: list[tuple[int, int]] = []
    covered: set[frozenset[int]] = set()
    for name, path in network.get("paths", {}).items():
        one, other = (names.index(group) for group in path["between"])
        covered.add(frozenset((one, other)))
        says = _also(path, ("rtt", "jitter", "loss"))
        through = [places[link] for link in path.get("through", [])]
        if through:
            if says:
                between[through[0]].lines.append(f"{name}: {says[0]}")
            else:
                between[through[0]].lines.append(f"path {name}")
            chained.extend(pair for pair in pairwise(through))
        else:
            through = [len(between)]
            between.append(Box("path", name, f"path {name}", says or ["as elsewhere"]))
        edges.extend([(one, through[0]), (other, through[-1])])
    rest = {
        place
        for one in range(len(groups))
        for other in range(one, len(groups))
        if frozenset((one, other)) not in covered and (one != other or _several(groups[one]))
        for place in (one, other)
    }
    if rest or not between:
        title = "between all others" if covered else "between any two hosts"
        lines = [f"round trip {_value(network.get('rtt'))}"] + _also(network, ("jitter", "loss"))
        topology = network.get("topology")
        if isinstance(topology, Mapping):
            plus = [f"plus {line}" for line in lines if line != "round trip 0 ms"]
            lines = [f"the {topology.get('routes')} way over the map", *plus]
        if any(_has_delay(network["groups"][names[place]]) for place in rest):
            lines.append("plus the delays of lines")
        between.append(Box("rest", "", title, lines))
        edges.extend((place, len(between) - 1) for place in sorted(rest or range(len(groups))))
    return between, list(dict.fromkeys(edges)), list(dict.fromkeys(chained))


def _has_delay(group: Mapping[str, object]) -> bool:
    """Whether a round trip of a group's hosts is longer than what lies between the groups."""
    access = group.get("access")
    delay = access.get("delay") if isinstance(access, Mapping) else access
    return delay not in _NOTHING


def _several(group: Box) -> bool:
    return not group.title.endswith(" 1 host")


def _link(name: str, link: Mapping[str, object]) -> Box:
    back = link.get("back")
    curves: list[Curve] = []
    if isinstance(back, Mapping):
        lines = list(_way(link, curves, "forth"))
        other = (f"back: {line}" for line in _way(back, curves, "back"))
        lines = [f"forth: {lines[0]}", *lines[1:], *other]
    else:
        lines = list(_way(link, curves))
    return Box("link", name, f"link {name}", lines, curves=curves)


def _rate(rate: object, table: Mapping[str, object], way: str, curves: list[Curve]) -> object:
    """A rate in words; what a trace says is added to the curves."""
    if not (isinstance(rate, Mapping) and is_trace(rate)):
        return rate
    found = curve(rate, table.get("framing"), way)
    curves.append(found)
    return found.words


def _way(way: Mapping[str, object], curves: list[Curve], name: str = "") -> Iterator[str]:
    rate = way.get("rate")
    limited = rate not in _NOTHING
    rate = _rate(rate, way, name, curves)
    yield f"{rate}, queue {_value(way.get('queue'))}" if limited else "unlimited"
    yield from _also(way)


def _tasks(
    name: str, workload: Mapping[str, Any], names: Sequence[str]
) -> Iterator[tuple[int, int, str]]:
    """The groups that take part in a workload: the group's place, its side, and words."""
    kind = workload.get("kind")
    if kind == "swarm":
        for population, table in workload.get("populations", {}).items():
            seeds = table.get("role") == "seed"
            where = table.get("group")
            hosts = table.get("hosts", "all")
            limit = table.get("upload")
            words = [
                f"{'seeds' if seeds else 'downloads'} {name} ({workload.get('size')})",
                f"as {population}" if population not in ("seed", "seeds", "leechers") else "",
                "on some hosts" if hosts == VARIES else "",
                f"on {counted(hosts, 'host')}" if hosts not in ("all", VARIES) else "",
                f"upload limit {limit}" if limit not in _NOTHING else "",
            ]
            for group in [where] if isinstance(where, str) else where:
                text = ", ".join(word for word in words if word)
                yield _place(group, names), -1 if seeds else 1, text
        return
    if kind == "origin":
        files = workload.get("files", {})
        count = files.get("count", 1)
        what = f"{count} files of {files.get('size')}" if count != 1 else f"{files.get('size')}"
        yield _place(workload.get("host"), names), -1, f"{name}: serves {what}"
        for population, table in workload.get("populations", {}).items():
            where = table.get("group")
            for group in [where] if isinstance(where, str) else where:
                yield _place(group, names), 1, f"{name}: downloads as {population}"
        return
    source, to = str(workload.get("from")), str(workload.get("to"))
    for here, there, side in ((source, to, -1), (to, source, 1)):
        yield _place(here, names), side, _flow(name, kind, workload, there, side)


def _flow(name: str, kind: object, table: Mapping[str, object], there: str, side: int) -> str:
    known = _FLOWS.get(kind)
    return f"{name}: {known(table, there, side) if known else f'{kind} with {there}'}"


def _ping(_table: Mapping[str, object], there: str, side: int) -> str:
    return f"pings {there}" if side < 0 else f"answers {there}"


def _web(table: Mapping[str, object], there: str, side: int) -> str:
    users = table.get("users", 1)
    who = f" ({counted(users, 'user')})" if users != 1 else ""
    return f"reads pages of {there}{who}" if side < 0 else f"pages for {there}"


def _download(table: Mapping[str, Any], there: str, side: int) -> str:
    if side < 0:
        return f"serves {table.get('size')} to {there}"
    others = [str(it) for it in table.get("mirrors", ())]
    count = table.get("connections", 1)
    over = f" over {counted(count, 'connection')}" if count != 1 else ""
    return f"downloads {table.get('size')} from {' and '.join([there, *others])}{over}"


def _transfer(table: Mapping[str, object], there: str, side: int) -> str:
    flows = table.get("flows", 1)
    count = f" ({counted(flows, 'flow')})" if flows != 1 else ""
    size = "" if table.get("size") in _NOTHING else f" {table['size']}"
    verb = ("sends", "to") if side < 0 else ("receives", "from")
    return f"{verb[0]}{size} {verb[1]} {there}{count}"


_FLOWS: dict[object, Callable[[Mapping[str, object], str, int], str]] = {
    "ping": _ping,
    "web": _web,
    "download": _download,
    "transfer": _transfer,
}
"""The words of workloads between two hosts that have more to say than their kind: at the other end
`there`, of the one that begins if the side is less than zero.
"""


def _place(host: object, names: Sequence[str]) -> int:
    """The group that a host belongs to, or that is meant itself."""
    text = str(host)
    return names.index(text if text in names else text.rpartition("-")[0])


def _change(change: Mapping[str, object]) -> str:
    if "stop" in change:
        return f"{change['at']}: {change['stop']} stops"
    return f"{change['at']}: {change['change']} becomes {_value(change['to'])}"


def _value(value: object) -> str:
    """A value in few words: of a table its kind, and its first number."""
    if isinstance(value, Mapping):
        if value.get("kind") in ("distribution", None) and "file" in value:
            return f"drawn from {value['file'] or 'given points'}"
        if "file" in value and "kind" not in value:
            return f"as in {value['file']}"
        if value.get("kind") == "bernoulli":
            return str(value["probability"])
        kind = str(value.get("kind", "")).replace("-", " ")
        texts = [v for k, v in value.items() if k != "kind" and not isinstance(v, Mapping | list)]
        number = next((str(v) for v in texts if v not in _NOTHING and not isinstance(v, bool)), "")
        return f"{value['kind']}" if kind in ("fq codel", "codel") else f"{kind} {number}".strip()
    if isinstance(value, list):
        return " and ".join(_value(one) for one in value)
    if isinstance(value, bool):
        return "on" if value else "off"
    return "none" if value is None else str(value)
