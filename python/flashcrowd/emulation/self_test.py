"""The self-test: each kind of path between hosts that talk, measured from outside with echoes.

The probes run over the plan's network with nothing else on it. What they have to find is what the
model says for the instants at which they were sent: some on the idle path for its delay and loss,
then more than its bottleneck carries, for its rate and the length of its queue.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from flashcrowd import _core
from flashcrowd._core import Plan
from flashcrowd.base.probes import COVERED, NOT_FILLED, NOT_REACHED
from flashcrowd.base.rows import Row
from flashcrowd.emulation.bottleneck import most_bps
from flashcrowd.plan.parts import NOTHING, hosts_of, workload, workloads
from flashcrowd.plan.types import (
    CorePath,
    Link,
    OriginWorkload,
    PingWorkload,
    Settings,
    Stop,
    SwarmWorkload,
    Workload,
)

MOST_KINDS = 6
"""Kinds of paths that are probed, those of the first workloads."""
_IDLE_BYTES = 84
_IDLE_EVERY_NS, _IDLE_NS = 25_000_000, 500_000_000
_LOSSY_EVERY_NS, _LOSSY_NS = 5_000_000, 2_000_000_000
"""A path that loses at random needs more echoes on it, …"""
_IDLE_LOAD = 0.2
"""… which take at most this share of its bottleneck."""
_FLOOD_NS = 500_000_000
_FLOOD_BYTES = 1400
_LOAD = 1.5
"""A flood is this multiple of the bottleneck's rate, …"""
_FILL_S, _MOST_LOAD = 1.0, 4.0
"""… and more, up to the latter, where its queue would not be full within this time."""
_PAST_FULL = 1.25
"""It lasts this multiple of the time to a full queue, …"""
_LONGEST_FLOOD_NS = 3_000_000_000
"""… and no longer than this."""
_MOST_FLOOD_PER_S = 10_000
_SETTLE_NS = 500_000_000
DELAY_S, DELAY_SHARE = 0.001, 0.02
"""Delays may differ by this much, or by this share of the model's delay."""
ANSWERS, ANSWERS_SHARE = 3, 0.05
"""So may the number of answers."""
RATE_SHARE = 0.05
"""So may the rate, …"""
LEAST_OF_RATE = 12
"""… which needs at least this number of answers."""
LOSS_Z = 3.29
"""The planned loss lies within the 99.9 % interval of the measured one."""

_FULL_BYTES = 1500
_FLOOD_PACKET_BITS = 8 * (_FLOOD_BYTES + 28)
"""Of an echo with its headers of IP and ICMP."""
Echo = tuple[float, float | None]
"""When it was sent, and how long its answer took; None for one that was not answered."""
Pair = tuple[float, float]
"""The model's value, and the measured one; or the ends of an interval."""


def probe_plan(plan: Plan, nodes: Sequence[int] | None = None) -> Plan:
    """A plan of the same network with probes in place of workloads, and no changes.

    Where hosts are on several nodes, as `nodes` says, a path between nodes is another kind of path.
    """
    probes, begin = list[Workload](), 0
    for number, (one, other) in enumerate(paths(plan, nodes)):
        narrowest = _bottleneck(plan, one, other)
        rate = narrowest[0] if narrowest else None
        every, span = _IDLE_EVERY_NS, _IDLE_NS
        if _loss(plan, one, other):
            least = _IDLE_BYTES * 8e9 / (_IDLE_LOAD * rate) if rate else 0
            every, span = max(_LOSSY_EVERY_NS, int(least)), _LOSSY_NS
        idle: PingWorkload = {
            "kind": "ping",
            "from": one,
            "to": other,
            "name": f"idle-{number}",
            "start_ns": begin,
            "stop_ns": begin + span,
            "interval_ns": every,
            "size_bytes": _IDLE_BYTES,
        }
        probes.append(idle)
        settle = begin + span + _SETTLE_NS + _base_rtt_ns(plan, one, other)
        begin = settle
        if narrowest:
            interval_ns, span_ns = _flood(*narrowest)
            flood: PingWorkload = {
                **idle,
                "name": f"flood-{number}",
                "start_ns": settle,
                "stop_ns": settle + span_ns,
                "interval_ns": interval_ns,
                "size_bytes": _FLOOD_BYTES,
            }
            probes.append(flood)
            begin = settle + span_ns + 2 * _SETTLE_NS + _longest_ns(plan, flood)
    stop: Stop = {**plan.stop, "horizon_ns": max(begin, 1)}
    return plan.with_(workloads=probes, timeline=[], measures=NOTHING, stop=stop)


def _flood(rate_bps: int, queue: Settings) -> tuple[int, int]:
    """The interval of echoes that flood a bottleneck, and how long they go on, in nanoseconds."""
    tail_bits = _tail(queue) * _FLOOD_PACKET_BITS
    load = min(_MOST_LOAD, max(_LOAD, 1 + tail_bits / (rate_bps * _FILL_S)))
    per_s = min(_MOST_FLOOD_PER_S, load * rate_bps / 8 / _FLOOD_BYTES)
    excess_bps = per_s * _FLOOD_PACKET_BITS - rate_bps
    span_ns = 0.0
    if excess_bps > 0:
        span_ns = min(_LONGEST_FLOOD_NS, _PAST_FULL * 1e9 * tail_bits / excess_bps)
    return int(1e9 / per_s), max(_FLOOD_NS, int(span_ns))


def _beyond(plan: Plan, spec: PingWorkload, ends: Mapping[str, str]) -> Iterator[Row]:
    """The quantities of a path that its flood is too slow, or too short, to measure."""
    narrowest = _bottleneck(plan, spec["from"], spec["to"])
    if narrowest is None:
        return
    rate_bps, tail = narrowest[0], _tail(narrowest[1])
    flood_bps = 1e9 / spec["interval_ns"] * _FLOOD_PACKET_BITS
    if flood_bps < rate_bps:
        yield _row(NOT_REACHED, ends, (rate_bps, flood_bps), True)
    span_s = _span_ns(spec) / 1e9
    filled = max(0.0, flood_bps - rate_bps) * span_s / _FLOOD_PACKET_BITS
    if filled < tail:
        yield _row(NOT_FILLED, ends, (tail, filled), True)


def _span_ns(probe: PingWorkload) -> int:
    """How long its echoes are sent: a probe has an end."""
    assert probe["stop_ns"] is not None
    return probe["stop_ns"] - probe["start_ns"]


def _longest_ns(plan: Plan, flood: PingWorkload) -> int:
    """The longest round trip of a flood by the model: the queue of a slow line holds seconds."""
    alone = plan.with_(workloads=[], timeline=[])
    begin, every = flood["start_ns"], flood["interval_ns"]
    ends = flood["from"], flood["to"], flood["size_bytes"]
    times = _core.echo_times(
        alone, 0, [(at, *ends) for at in range(begin, begin + _span_ns(flood), every)]
    )
    return max((time for time in times if time is not None), default=0)


def judged(plan: Plan, seed: int, echoes: Mapping[int, list[Echo]]) -> list[Row]:
    """The measured values and the model's, as rows of the table `probes`.

    Args:
        plan: the plan of the probes.
        seed: the run's.
        echoes: of each probe, by number of its workload, when it sent and how long that took.
    """
    asked = []
    for index, found in echoes.items():
        spec = workload(plan, index, PingWorkload)
        for number, (sent, _) in enumerate(found):
            request = (max(0, int(sent * 1e9)), spec["from"], spec["to"], spec["size_bytes"])
            asked.append((request, index, number))
    asked.sort()
    times = _core.echo_times(plan, seed, [request for request, _, _ in asked])
    said: dict[int, list[Echo]] = {index: [] for index in echoes}
    for (request, index, _), time in zip(asked, times, strict=True):
        said[index].append((request[0] / 1e9, None if time is None else time / 1e9))
    rows = []
    least: dict[tuple[str, str], Pair] = {}
    for index, found in echoes.items():
        spec = workload(plan, index, PingWorkload)
        rows += _rows(plan, spec, (said[index], found), least)
    return rows


def stalls(seconds: Sequence[Mapping[str, float]]) -> list[str]:
    """How long the emulator stalled while it was measured, in words, if delays may tell.

    Answers to a flood fill the way back as requests fill the way there. A full line never makes up
    for a stall, so that stalls add up in the round trips.
    """
    stalled_s = sum(second["late_max_s"] for second in seconds)
    if stalled_s <= DELAY_S:
        return []
    return [f"packets of the self-test were up to {1e3 * stalled_s:.3g} ms late, second by second"]


def failures(rows: list[Row]) -> list[str]:
    """Measured values that are not the model's, in words."""
    return [
        f"self-test: {row['probe']} from {row['from']} to {row['to']} is {row['measured']:.6g}, "
        f"the model says {row['planned']:.6g}"
        for row in rows
        if not row["within"]
    ]


def _rows(
    plan: Plan,
    spec: PingWorkload,
    echoes: tuple[list[Echo], list[Echo]],
    least: dict[tuple[str, str], Pair],
) -> Iterator[Row]:
    """The results of one kind of probes on one path; the idle path comes before the full one.

    Args:
        plan: the plan of the probes.
        spec: the probes.
        echoes: by the model, and as measured.
        least: the least round trips of the idle paths so far.
    """
    hosts = plan.network["hosts"]
    ends = {"from": hosts[spec["from"]]["name"], "to": hosts[spec["to"]]["name"]}
    key = ends["from"], ends["to"]
    trips = [[rtt for _, rtt in found if rtt is not None] for found in echoes]
    counts = len(trips[0]), len(trips[1])
    few = ANSWERS + ANSWERS_SHARE * counts[0]
    path = "idle" if spec["name"].startswith("idle") else "full"
    yield _row(f"answers on the {path} path", ends, counts, abs(counts[0] - counts[1]) <= few)
    if not all(counts):
        return
    if path == "idle":
        pair = least[key] = min(trips[0]), min(trips[1])
        yield _row("least round trip on the idle path", ends, pair, _near(pair))
        loss = _loss(plan, spec["from"], spec["to"])
        if loss:
            interval = _interval(len(echoes[1]) - counts[1], len(echoes[1]))
            share = 1 - counts[1] / len(echoes[1])
            within = interval[0] <= loss <= interval[1]
            yield _row("loss on the idle path, both ways", ends, (loss, share), within, interval)
        return
    pair = _nine_tenths(trips[0]), _nine_tenths(trips[1])
    yield _row("90th percentile of round trips on the full path", ends, pair, _near(pair))
    if key in least:
        waits = pair[0] - least[key][0], pair[1] - least[key][1]
        # It is late by no more than both of what it is the difference of.
        within = _near(pair) and _near(least[key])
        yield _row("wait on the full path", ends, waits, within)
    beyond = [*_beyond(plan, spec, ends)]
    yield from beyond
    if min(counts) >= LEAST_OF_RATE and not any(it["probe"] == NOT_REACHED for it in beyond):
        rates = _rate_bps(echoes[0]), _rate_bps(echoes[1])
        within = abs(rates[1] - rates[0]) <= RATE_SHARE * rates[0]
        yield _row("rate of the full path", ends, rates, within)


def _near(pair: Pair) -> bool:
    """Whether two delays differ by no more than they may."""
    return abs(pair[1] - pair[0]) <= DELAY_S + DELAY_SHARE * pair[0]


def _rate_bps(echoes: list[Echo]) -> float:
    """At what rate answers came, from the time on when the bottleneck was surely busy."""
    came = sorted(sent + rtt for sent, rtt in echoes if rtt is not None)
    later = came[len(came) // 4 :]
    span = later[-1] - later[0]
    return (len(later) - 1) * _FLOOD_BYTES * 8 / span if span > 0 else math.inf


def _interval(lost: int, sent: int) -> Pair:
    """The interval of a share by Wilson (1927), which Brown, Cai and DasGupta (2001) recommend."""
    share, square = lost / sent, LOSS_Z**2
    middle = (share + square / (2 * sent)) / (1 + square / sent)
    spread = math.sqrt(share * (1 - share) / sent + square / (4 * sent**2))
    half = LOSS_Z * spread / (1 + square / sent)
    return middle - half, middle + half


def _nine_tenths(values: list[float]) -> float:
    return sorted(values)[len(values) * 9 // 10]


def _row(
    probe: str, ends: Mapping[str, str], pair: Pair, within: bool, interval: Pair | None = None
) -> Row:
    planned, measured = map(float, pair)
    low, high = interval or (None, None)
    found = {"planned": planned, "measured": measured, "low": low, "high": high}
    return {"probe": probe, **ends, **found, "within": int(within)}


def paths(plan: Plan, nodes: Sequence[int] | None = None) -> list[tuple[int, int]]:
    """One pair of hosts for each kind of path that is probed."""
    return _kinds(plan, nodes)[:MOST_KINDS]


def left_out(plan: Plan, nodes: Sequence[int] | None = None) -> list[Row]:
    """A row of the table `probes` on how many kinds of paths there are, if not all are probed."""
    kinds = len(_kinds(plan, nodes))
    ends = {"from": "", "to": ""}
    return [_row(COVERED, ends, (kinds, MOST_KINDS), True)] if kinds > MOST_KINDS else []


def _kinds(plan: Plan, nodes: Sequence[int] | None) -> list[tuple[int, int]]:
    """One pair of hosts for each kind of path that a workload uses."""
    network, groups = plan.network, len(plan.network["groups"])
    numbers: dict[str, int] = {}

    def number(what: Any) -> int:
        """The same for what is the same, so that paths are compared by a few numbers."""
        return numbers.setdefault(json.dumps(what, sort_keys=True), len(numbers))

    lines: dict[int, tuple[int, int]] = {}
    cores: dict[int, int] = {}

    def way(one: int, other: int) -> tuple[int, int, int]:
        for host in (one, other):
            if host not in lines:
                own = network["hosts"][host]
                lines[host] = number(_links(plan, own["up"])), number(_links(plan, own["down"]))
        place = network["hosts"][one]["group"] * groups + network["hosts"][other]["group"]
        core = network["core_of"][place]
        if core not in cores:
            between = network["cores"][core]
            cores[core] = number([_links(plan, between["links"]), {**between, "links": []}])
        return lines[one][0], cores[core], lines[other][1]

    kinds: dict[tuple[Any, ...], tuple[int, int]] = {}
    for each in plan.workloads:
        for one, other in _pairs(plan, each):
            crosses = nodes is not None and nodes[one] != nodes[other]
            kinds.setdefault((way(one, other), way(other, one), crosses), (one, other))
    return [*kinds.values()]


def _links(plan: Plan, steps: Sequence[int]) -> list[Link]:
    """Links without names."""
    return [{**plan.network["links"][step], "name": ""} for step in steps]


def crowd_rtts_s(plan: Plan) -> list[float]:
    """Round-trip times between peers of swarms, and to content servers; as far as not drawn."""
    swarms, origins = workloads(plan, SwarmWorkload), workloads(plan, OriginWorkload)
    crowds = plan.with_(workloads=[it for it in plan.workloads if "populations" in it])
    members = {host for it in (*swarms, *origins) for host in hosts_of(it)}
    members |= {it["host"] for it in origins}
    return [
        _base_rtt_ns(plan, one, other) / 1e9
        for one, other in _kinds(crowds, None)
        if one in members and other in members
    ]


def packet_s(plan: Plan) -> float:
    """The time of the slowest link of a round trip for a full packet, of those where it is least.

    0 if hosts talk between which no link has a rate.
    """
    slowest = (
        [most_bps(plan, one, other), most_bps(plan, other, one)]
        for one, other in _kinds(plan, None)
    )
    return min(
        (max((8 * _FULL_BYTES / it for it in both if it), default=0.0) for both in slowest),
        default=0.0,
    )


def _pairs(plan: Plan, workload: Workload) -> Iterator[tuple[int, int]]:
    """Hosts that talk in a workload: of a swarm, two of each kind of hosts at most.

    Of a content server it is the server with one client of each kind.
    """
    if "from" in workload:
        for source in (workload["from"], *workload.get("mirrors", ())):
            yield source, workload["to"]
        return
    if workload["kind"] == "origin":
        of_kind: dict[str, int] = {}
        for population in workload["populations"]:
            for host in population["hosts"]:
                of_kind.setdefault(_kind(plan, host), host)
        for host in of_kind.values():
            yield workload["host"], host
        return
    kinds: dict[str, list[int]] = {}
    for population in workload["populations"]:
        for host in population["hosts"]:
            alike = kinds.setdefault(_kind(plan, host), [])
            if len(alike) < 2:
                alike.append(host)
    chosen = [host for alike in kinds.values() for host in alike]
    for place, one in enumerate(chosen):
        for other in chosen[place + 1 :]:
            yield one, other
    for population in workload["populations"]:
        control = population.get("upload_control")
        if control is not None and population["hosts"]:
            yield population["hosts"][0], control["reflectors"][0]
    tracker = workload["tracker"]["host"]
    if tracker is not None and tracker not in chosen:
        yield chosen[-1], tracker


def _kind(plan: Plan, host: int) -> str:
    """A host's line, and its place, without names."""
    own = plan.network["hosts"][host]
    lines = _links(plan, [*own["up"], *own["down"]])
    return json.dumps([own["group"], len(own["up"]), lines], sort_keys=True)


def _core_between(plan: Plan, one: int, other: int) -> CorePath:
    network = plan.network
    groups = [network["hosts"][host]["group"] for host in (one, other)]
    return network["cores"][network["core_of"][groups[0] * len(network["groups"]) + groups[1]]]


def _way(plan: Plan, one: int, other: int) -> list[Link | CorePath]:
    """The links from one host to another, and what lies between, without names."""
    network, core = plan.network, _core_between(plan, one, other)
    steps = [*network["hosts"][one]["up"], *core["links"], *network["hosts"][other]["down"]]
    return [*_links(plan, steps), {**core, "links": []}]


def _bottleneck(plan: Plan, one: int, other: int) -> tuple[int, Settings] | None:
    """Rate and queue of the narrowest link on the way forth; `None` without one or with a trace."""
    links = _way(plan, one, other)
    if any(link.get("trace") is not None for link in links):
        return None
    found = [(it["conditions"]["rate_bps"], it["conditions"]["queue"]) for it in links]
    rated = [(rate_bps, queue) for rate_bps, queue in found if rate_bps is not None]
    return min(rated, key=lambda it: it[0], default=None)


def _tail(queue: Settings) -> int:
    """Packets of a flood that a queue holds; 0 if it has no end or drops earlier."""
    if queue["kind"] != "drop-tail":
        return 0
    packets, size = queue["packets"], queue["bytes"]
    ends = [packets] if packets is not None else []
    ends += [8 * size // _FLOOD_PACKET_BITS] if size is not None else []
    return min(ends, default=0)


def _loss(plan: Plan, one: int, other: int) -> float | None:
    """The share of echoes that the path loses at random, both ways; `None` if none or not known.

    A loss that is drawn for each pair is not known, and one that comes in bursts has no interval.
    """
    steps = [*_way(plan, one, other), *_way(plan, other, one)]
    if any(step.get("draw") is not None for step in steps):
        return None
    kept = 1.0
    for step in steps:
        loss = step["conditions"]["loss"]
        if loss is None:
            continue
        if loss["model"]["kind"] != "bernoulli":
            return None
        kept *= 1 - loss["model"]["probability"]
    return 1 - kept if kept < 1 else None


def _base_rtt_ns(plan: Plan, one: int, other: int) -> int:
    """Both ways' delays, as far as they are not drawn."""
    both = [*_way(plan, one, other), *_way(plan, other, one)]
    return sum(link["conditions"]["delay_ns"] for link in both)
