"""The tables of a run out of what each of its nodes knows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import zip_longest
from typing import Any

from flashcrowd import _core
from flashcrowd._core import Plan
from flashcrowd.base.rows import Row, Rows
from flashcrowd.base.undelivered import UNDELIVERED

Part = Mapping[str, list[Row]]

ARRIVALS = "arrivals"
"""A node's report beside tables: which peers came to it, and when, with its numbers of them."""
LABS = "labs"
"""A lab's report beside tables: how hosts were attached, and whether the emulator had real-time
priority at the end.
"""
_SHARES = ("alone_share", "uninterested_share", "choked_share", "unchoked_share")
_SUMMED = (
    "events",
    "packets_sent",
    "packets_delivered",
    "packets_lost",
    "packets_dropped",
    "payload_bytes_delivered",
    "retransmitted_packets",
)


def tables(plan: Plan, parts: Sequence[Part]) -> Rows:
    """The tables of the whole, by name; `parts` in the order of the nodes."""
    order = {workload["name"]: place for place, workload in enumerate(plan.workloads)}
    links = {link["name"]: place for place, link in enumerate(plan.network["links"])}
    members = _members(parts)
    found: Rows = {name: _all(parts, name) for part in parts for name in part if name != ARRIVALS}

    def sort(name: str, key: Callable[[Row], Any]) -> None:
        found.get(name, []).sort(key=key)

    for table, column in (("transfers", "transfer"), ("pings", "ping"), ("calls", "call")):
        sort(table, lambda row, column=column: order[row[column]])
    sort("links", lambda row: links[row["link"]])
    for name in ("downloads", "have"):
        found[name] = [
            {**row, "peer": members[node, row["swarm"], row["peer"]]}
            for node, part in enumerate(parts)
            for row in part.get(name, [])
        ]
    hosts = {host["name"]: place for place, host in enumerate(plan.network["hosts"])}
    sort("downloads", lambda row: (order[row["swarm"]], hosts[row["host"]], row["arrived_s"]))
    sort("have", lambda row: (row["t_s"], row["peer"], row["piece"]))
    found["populations"] = _populations(_all(parts, "populations"))
    found["pieces"] = _pieces(parts, (plan.measures["pieces_ns"] or 1) / 1e9)
    found["series"] = _series(parts)
    found["queues"] = _queues(_all(parts, "queues"))
    found["payloads"] = _payloads(_all(parts, "payloads"))
    found["rtts"] = [
        _estimates(group) for group in _grouped(_all(parts, "rtts"), "swarm", "population").values()
    ]
    found["programs"] = [dict(it) for it in dict.fromkeys(map(_frozen, _all(parts, "programs")))]
    found["emulation"] = [
        _second([row for row in rows if row is not None])
        for rows in zip_longest(*(part["emulation"] for part in parts))
    ]
    found["run"] = [_run([part["run"][0] for part in parts])]
    return found


def _all(parts: Sequence[Part], name: str) -> list[Row]:
    return [row for part in parts for row in part.get(name, [])]


def _frozen(row: Row) -> tuple[tuple[str, Any], ...]:
    return tuple(row.items())


def _members(parts: Sequence[Part]) -> dict[tuple[int, str, int], int]:
    """Numbers of peers in the order of arrival, by node, swarm and number there."""
    came = sorted(
        (row["swarm"], row["arrived_s"], node, row["peer"])
        for node, part in enumerate(parts)
        for row in part.get(ARRIVALS, [])
    )
    numbers: dict[str, int] = {}
    found = {}
    for swarm, _, node, peer in came:
        found[node, swarm, peer] = numbers.get(swarm, 0)
        numbers[swarm] = found[node, swarm, peer] + 1
    return found


def _grouped(rows: Iterable[Row], *keys: str) -> dict[tuple[Any, ...], list[Row]]:
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row[key] for key in keys), []).append(row)
    return groups


def _populations(rows: list[Row]) -> list[Row]:
    return [_population(group) for group in _grouped(rows, "swarm", "population", "role").values()]


def _population(rows: list[Row]) -> Row:
    joined: Row = {}
    waited = [row for row in rows if row["downloading_s"] > 0]
    total = sum(row["downloading_s"] for row in waited)
    for name, value in rows[0].items():
        if name in _SHARES:
            # Known only if every node knows it.
            known = bool(waited) and all(row[name] is not None for row in waited)
            weighed = sum((row[name] or 0.0) * row["downloading_s"] for row in waited)
            joined[name] = weighed / total if known else None
        elif isinstance(value, int | float):
            joined[name] = sum(row[name] for row in rows)
        else:
            joined[name] = value
    return joined


def _samples(
    parts: Sequence[Part], name: str, *keys: str
) -> dict[tuple[Any, ...], list[list[Row]]]:
    """Rows that nodes took at the same instants, by what they are of, each instant's together."""
    nodes = [_grouped(part.get(name, []), *keys) for part in parts]
    found = {}
    for key in dict.fromkeys(key for groups in nodes for key in groups):
        taken = [groups[key] for groups in nodes if key in groups]
        found[key] = [list(rows) for rows in zip(*taken, strict=False)]
    return found


def _pieces(parts: Sequence[Part], every_s: float) -> list[Row]:
    # A node reports a population from its first peer on. Of its samples that are late by a whole
    # interval the last counts.
    ticks: dict[tuple[Any, ...], dict[int, Row]] = {}
    for node, part in enumerate(parts):
        for row in part.get("pieces", []):
            tick = int(row["t_s"] / every_s + 1e-6)
            ticks.setdefault((tick, row["swarm"], row["population"]), {})[node] = row
    found = []
    for (_, swarm, population), rows in sorted(ticks.items(), key=lambda it: it[0][0]):
        leechers = sum(row["leechers"] for row in rows.values())
        found.append(
            {
                "swarm": swarm,
                "population": population,
                "t_s": min(row["t_s"] for row in rows.values()),
                "leechers": leechers,
                "mean": sum(row["mean"] * row["leechers"] for row in rows.values()) / leechers,
                "min": min(row["min"] for row in rows.values()),
                "max": max(row["max"] for row in rows.values()),
            }
        )
    return found


def _series(parts: Sequence[Part]) -> list[Row]:
    rows = [row for row in _all(parts, "series") if row["what"] not in _core.SwarmRules.SERIES]
    known = [
        [it for it in part["series"] if it["what"] in _core.SwarmRules.SERIES] for part in parts
    ]
    swarms = [{"series": rows} for rows in known]
    for instants in _samples(swarms, "series", "what", "source").values():
        rows += [{**it[0], "value": sum(row["value"] for row in it)} for it in instants]
    return sorted(rows, key=lambda row: row["t_s"])


def _queues(rows: list[Row]) -> list[Row]:
    groups = _grouped(rows, "owner", "way", "packets")
    owners = {key: place for place, key in enumerate(_grouped(rows, "owner", "way"))}
    joined = [{**group[0], "count": sum(it["count"] for it in group)} for group in groups.values()]
    return sorted(joined, key=lambda row: (owners[row["owner"], row["way"]], row["packets"]))


def _payloads(rows: list[Row]) -> list[Row]:
    groups = _grouped(rows, "swarm", "population", "bytes")
    joined = [{**group[0], "count": sum(it["count"] for it in group)} for group in groups.values()]
    return sorted(joined, key=lambda row: (row["swarm"], row["population"], row["bytes"]))


def _estimates(rows: list[Row]) -> Row:
    """Round-trip time estimates of one population, each node's weighted by its samples."""
    samples = sum(row["samples"] for row in rows)
    return {
        **rows[0],
        "samples": samples,
        "mean_s": sum(row["mean_s"] * row["samples"] for row in rows) / samples,
        "min_s": min(row["min_s"] for row in rows),
        "max_s": max(row["max_s"] for row in rows),
    }


def _second(rows: list[Row]) -> Row:
    """A second of all nodes: packets and drops of all, of everything else the worst."""
    worst = {name: max(row[name] for row in rows) for name in rows[0]}
    summed = {name: sum(row[name] for row in rows) for name in ("packets", "unmodelled_drops")}
    return {**worst, "t_s": rows[0]["t_s"], **summed}


def _run(rows: list[Row]) -> Row:
    """All nodes have the same outcome, but where one is invalid, or lost a connection."""
    for outcome in ("failed", "invalid", UNDELIVERED):
        these = {node: row["reason"] for node, row in enumerate(rows) if row["outcome"] == outcome}
        if these:
            # Messages about the whole name its node already.
            named = [
                why if why.startswith("node ") else f"node {node}: {why}"
                for node, why in these.items()
            ]
            reason = "; ".join(dict.fromkeys(named))
            break
    else:
        outcome, reason = rows[0]["outcome"], rows[0]["reason"]
    return {
        **rows[0],
        "outcome": outcome,
        "reason": reason,
        "end_s": max(row["end_s"] for row in rows),
        **{name: sum(row[name] for row in rows) for name in _SUMMED},
    }
