"""A resolved study in words: what was run, for readers who have not seen the file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from flashcrowd.diagram.curve import curve, is_trace
from flashcrowd.diagram.swept import VARIES, counted, unfixed
from flashcrowd.report import wording
from flashcrowd.report.charts.names import called
from flashcrowd.report.points import Axis, Points
from flashcrowd.report.source import Source, section
from flashcrowd.report.sweep_values import shown
from flashcrowd.scenario.swarm import DEPARTURES

_ARRIVALS = {
    "flash-crowd": "come together within {spread} from {start}",
    "poisson": "come one by one, {gap} apart on average",
    "times": "come at given instants",
}


def title(study: Mapping[str, object]) -> str:
    """The title that the study gives itself."""
    return str(study.get("title") or "A study without a title")


def lead(points: Points) -> str:
    """The size of the study: its points, then its runs."""
    swept = [axis for axis in points.axes if len(axis.levels) > 1]
    what = wording.count(len(points.points), "point")
    if len(swept) == 1:
        (axis,) = swept
        what += f", one for each {'case' if axis.cases else f'value of {axis.name}'}"
    elif swept:
        what += f": {' × '.join(_several(axis) for axis in swept)}"
    return f"{what}. {wording.count(len(points.runs), 'run')} in all, {points.per_point()}."


def _several(axis: Axis) -> str:
    count = len(axis.levels)
    return f"{count} cases" if axis.cases else f"{count} values of {axis.name}"


def question(study: Mapping[str, object]) -> str:
    """The question of the study's author, if there is one."""
    return str(study.get("description") or "")


def facts(results: Source, points: Points) -> list[tuple[str, str]]:
    """The network, the workloads, the sweep and the timeline, a line each."""
    study = unfixed(results.study)
    found = [*_network(section(study.get("network"))), *_workloads(study)]
    for axis in points.axes:
        labels = [axis.label(i) for i in range(len(axis.levels))]
        of = f" ({' / '.join(axis.paths)})" if len(axis.paths) > 1 else ""
        found.append((f"swept: {axis.name}", ", ".join(labels) + of))
    if study.get("timeline"):
        found.append(("timeline", "; ".join(_change(c) for c in study["timeline"].values())))
    return found


def origin(results: Source, points: Points) -> list[tuple[str, str]]:
    """The program, the machine, the time and the seeds, a line each."""
    seeds = list(dict.fromkeys(run.seed for run in points.runs.values()))
    return [
        *_provenance(results.provenance),
        ("seeds of the runs", _few([str(seed) for seed in seeds])),
    ]


def _network(network: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    if not network:
        return
    between = [_between("round-trip time", network.get("rtt"))]
    for name in ("jitter", "loss"):
        if network.get(name) not in (None, "none"):
            between.append(_between(name, network[name]))
    yield "between any two hosts", ", ".join(between)
    for name, group in section(network.get("groups")).items():
        group = section(group)
        hosts = group.get("hosts", 1)
        parts = [counted(hosts, "host") if hosts == VARIES else wording.count(hosts, "host")]
        access = group.get("access")
        parts.append(f"line {_line(access)}" if access not in (None, "none") else "no line limit")
        stack = group.get("stack", "inherit")
        parts.append(f"TCP {network.get('stack', '') if stack == 'inherit' else stack}")
        if isinstance(group.get("devices"), Mapping):
            devices = group["devices"]
            parts.append(
                f"devices: loopback {devices.get('loopback')}, Ethernet {devices.get('ethernet')}"
            )
        yield f"group {name}", ", ".join(parts)
    for name, link in section(network.get("links")).items():
        link = section(link)
        yield (
            f"shared link {name}",
            f"{_rate(link, 'rate')}, queue {link.get('queue')}, delay {link.get('delay')}",
        )


def _between(name: str, value: object) -> str:
    if isinstance(value, Mapping):
        if value.get("kind") == "distribution":
            return f"{name} drawn for each pair from {value.get('file') or 'given points'}"
        if value.get("kind") == "bernoulli":
            return f"{name} {value.get('probability')}"
        inner = ", ".join(
            f"{key} {shown(v)}" for key, v in value.items() if not isinstance(v, list | Mapping)
        )
        return f"{name} ({inner})"
    return f"{name} {shown(value)}"


def _rate(table: Mapping[str, object], key: str) -> str:
    rate = table.get(key)
    if isinstance(rate, Mapping) and is_trace(rate):
        return curve(rate, table.get("framing")).words
    return str(rate)


def _line(access: object) -> str:
    if isinstance(access, Mapping):
        if access.get("line") not in (None, "none"):
            return str(access["line"])
        return f"{_rate(access, 'up')} up, {_rate(access, 'down')} down"
    return str(access)


def _workloads(study: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    for name, workload in section(study.get("workloads")).items():
        workload = section(workload)
        kind = str(workload.get("kind", "workload"))
        if kind == "swarm":
            tracker = section(workload.get("tracker")).get("host")
            yield (
                called("swarm", name),
                f"{workload.get('size')} in pieces of {workload.get('piece')}"
                + (f", tracker on {tracker}" if tracker not in (None, "none") else ""),
            )
            for of, population in section(workload.get("populations")).items():
                yield f"{name}: {of}", _population(section(population))
        elif kind == "origin":
            yield called("origin", name), _origin(workload)
            for of, clients in section(workload.get("populations")).items():
                yield f"{name}: {of}", _clients(section(clients))
        else:
            inner = ", ".join(
                f"{key} {shown(value)}"
                for key, value in workload.items()
                if key != "kind" and not isinstance(value, Mapping | list)
            )
            yield called(kind, name), inner


def _origin(origin: Mapping[str, object]) -> str:
    files = section(origin.get("files"))
    policy, disk = section(origin.get("policy")), section(origin.get("disk"))
    popular = f", asked for by Zipf's law with {files['zipf']}" if files.get("zipf") else ""
    return (
        f"on {origin.get('host')}, {wording.count(int(files.get('count', 1)), 'file')} of "
        f"{files.get('size')}{popular}, policy {policy.get('kind')}, memory "
        f"{origin.get('memory')}, {str(disk.get('kind')).replace('-', ' ')} of {disk.get('rate')}"
    )


def _clients(clients: Mapping[str, object]) -> str:
    parts = [_who("clients", clients), "in order" if clients.get("in_order") else "in any order"]
    parts.append(_phrase(_ARRIVALS, clients.get("arrivals")))
    return ", ".join(part for part in parts if part)


def _who(role: str, population: Mapping[str, Any]) -> str:
    group, hosts = population.get("group"), population.get("hosts", "all")
    groups = " and ".join(group) if isinstance(group, list) else str(group)
    which = {"all": "all hosts", VARIES: "some hosts"}.get(hosts, f"{hosts} of the hosts")
    return f"{role} on {which} of {groups}"


def _population(population: Mapping[str, object]) -> str:
    role = "seeds" if population.get("role") == "seed" else "leechers"
    who = _who(role, population)
    upload = population.get("upload")
    limit = "no upload limit" if upload in (None, "unlimited") else f"upload limit {upload}"
    parts = [who, f"client {population.get('profile')}", limit]
    parts.append(_phrase(_ARRIVALS, population.get("arrivals")))
    if role == "leechers":
        parts.append(_phrase(DEPARTURES, population.get("departure")))
    if population.get("replace"):
        parts.append("each leaver is followed by a new leecher")
    return ", ".join(part for part in parts if part)


def _phrase(phrases: Mapping[str, str], given: object) -> str:
    values = dict(given) if isinstance(given, Mapping) else {"kind": given}
    phrase = phrases.get(str(values.get("kind")), "")
    if str(values.get("spread", "1")).split()[0] == "0":
        phrase = "come at {start}"
    try:
        return phrase.format(**values)
    except KeyError:
        return phrase.split("{")[0].strip()


def _change(change: object) -> str:
    values = section(change)
    if "stop" in values:
        return f"at {values.get('at')} {values['stop']} stops"
    return f"at {values.get('at')} {values.get('change')} becomes {shown(values.get('to'))}"


def _provenance(provenance: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    version, commit = provenance.get("version"), provenance.get("commit")
    if version:
        engine = provenance.get("engine")
        text = f"flashcrowd {version}" + (f", commit {commit}" if commit else "")
        yield "program", text + (f", engine {engine}" if engine else "")
    sessions = provenance.get("sessions") or []
    if sessions:
        machine = section(sessions[-1].get("machine"))
        yield "when", f"{sessions[0].get('started')} to {sessions[-1].get('finished')}"
        parts = [machine.get("processor"), machine.get("system"), machine.get("architecture")]
        yield "machine", ", ".join(str(part) for part in parts if part)


def _few(items: list[str], most: int = 10) -> str:
    if len(items) <= most:
        return ", ".join(items)
    return ", ".join(items[:most]) + f" and {len(items) - most} more"
