"""Why it took so long: what held a run up, in words, with shares of time.

Reads the tables `populations`, `origins`, `links` and `runs` and the resolved study. Shares are
means over the runs, each peer of a population counting for as long as it was there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from flashcrowd.report import source
from flashcrowd.report.points import RUN_COLUMNS, Point
from flashcrowd.report.source import Source
from flashcrowd.report.wording import count, number, sentence

TELLING = 0.02
"""Smaller shares of a time explain nothing."""
BUSY = 0.9
"""A link that carries at least this part of what it could holds others up."""

_WAITS = {
    "choked_share": "waited for a slot: all who had what they lacked choked them",
    "uninterested_share": "had neighbours, and none of them had a piece to ask for",
    "alone_share": "had no neighbour yet",
}

_NOTHING = re.compile(r" \(0 ")
"""An upload limit in brackets that lets nothing through."""

_ACCESS = re.compile(r"(?P<group>.+)-\d+ (?P<way>up|down)")


def sentences(results: Source, point: Point | None = None) -> list[str]:
    """What held the runs of a point up, or those of all points, the most telling first.

    Args:
        results: tables and study.
        point: whose runs; all without one.
    """
    runs = None if point is None else [run.run for run in point.runs]
    return [
        *_outcomes(_rows(results, "runs", runs)),
        *_swarms(results, runs),
        *_disks(results, runs),
        *_links(results, runs),
    ]


def _rows(results: Source, name: str, runs: list[int] | None) -> pa.Table | None:
    rows = source.table(results, name)
    if rows is None or runs is None:
        return rows
    rows = rows.filter(pa.array(np.isin(source.integers(rows, "run"), runs), type=pa.bool_()))
    return rows if rows.num_rows else None


_ENDS = (
    ("failed", "failed"),
    ("undelivered", "did not deliver everything"),
    ("stalled", "got stuck"),
    ("horizon", "were cut off by the horizon"),
    ("invalid", "were not emulated as exactly as they must be"),
)


def _outcomes(rows: pa.Table | None) -> Iterator[str]:
    if rows is None:
        return
    outcomes, reasons = source.strings(rows, "outcome"), source.strings(rows, "reason")
    for outcome, words in _ENDS:
        chosen = outcomes == outcome
        if chosen.any():
            of = f"{count(int(chosen.sum()), 'run')} of {rows.num_rows}"
            yield f"{of} {words}: {reasons[chosen][0]}."


def _swarms(results: Source, runs: list[int] | None) -> Iterator[str]:
    rows = _rows(results, "populations", runs)
    if rows is None:
        return
    names = source.distinct(rows, "swarm")
    for name in names:
        prefix = f"{name}: " if len(names) > 1 else ""
        of_swarm = source.where(rows, "swarm", name)
        for text in _swarm(results, runs, name, of_swarm):
            yield prefix + text if prefix else sentence(text)


def _swarm(results: Source, runs: list[int] | None, swarm: str, rows: pa.Table) -> Iterator[str]:
    populations = source.strings(rows, "population")
    roles = source.strings(rows, "role")
    found: list[tuple[float, str]] = []
    for name, role in dict.fromkeys(zip(populations, roles, strict=True)):
        own = rows.filter(pa.array((populations == name) & (roles == role), type=pa.bool_()))
        limit = _limit(results, runs, swarm, str(name))
        limited = _share(own, "limited_share", "needed_s")
        if limited >= TELLING:
            text = f"the upload limit of {name}{limit} was used up {_per_cent(limited)} of the time"
            found.append((limited, f"{text} that somebody still downloaded."))
        idle = _share(own, "idle_share", "needed_s")
        if _NOTHING.match(limit):
            found.append((1.0, f"{name} was not allowed to upload{limit}."))
        elif idle >= TELLING:
            text = (
                f"{name} had nothing to upload {_per_cent(idle)} of the time that leechers waited"
            )
            found.append((idle, f"{text}: no request was there, and nothing was on its way."))
        for column, what in _WAITS.items():
            share = _share(own, column, "downloading_s")
            if share >= TELLING:
                found.append((share, f"{_per_cent(share)} of their time, {name} {what}."))
    yield from (text for _, text in sorted(found, key=lambda item: -item[0]))
    yield from _bytes(rows, roles)


def _bytes(rows: pa.Table, roles: np.ndarray) -> Iterator[str]:
    """Who sent it, what was sent for nothing, and how often a transport waited for nothing."""
    up, down = source.numbers(rows, "uploaded_bytes"), source.numbers(rows, "downloaded_bytes")
    if up.sum() > 0:
        saved = up[roles == "leecher"].sum() / up.sum()
        yield (
            f"leechers uploaded {_per_cent(saved)} of all that was uploaded, "
            f"seeds {_per_cent(1 - saved)}."
        )
    wasted = source.numbers(rows, "wasted_bytes").sum() / max(down.sum(), 1.0)
    if wasted >= TELLING:
        yield f"{_per_cent(wasted)} of what was downloaded was there already, or given up."
    peers = source.numbers(rows, "peers").sum()
    timeouts = source.numbers(rows, "timeouts").sum() / max(peers, 1.0)
    if timeouts >= 1:
        yield f"connections ran into {number(timeouts, 1)} retransmission timeouts a peer."


def _share(rows: pa.Table, column: str, of: str) -> float:
    """The mean share of a time, each row weighted with that time; zero without one."""
    shares, weights = source.numbers(rows, column), source.numbers(rows, of)
    known = ~np.isnan(shares) & (weights > 0)
    return float(np.average(shares[known], weights=weights[known])) if known.any() else 0.0


def _limit(results: Source, runs: list[int] | None, swarm: str, population: str) -> str:
    """The upload limit in brackets, where all of these runs have the same all the time."""
    path = f"workloads.{swarm}.populations.{population}.upload"
    if any(change.get("change") == path for change in _table(results.study, "timeline").values()):
        return ""
    rows = _rows(results, "runs", runs)
    if rows is not None and path in rows.column_names and path not in RUN_COLUMNS:
        values = set(rows.column(path).to_pylist())
        return f" ({values.pop()})" if len(values) == 1 else ""
    place: Any = results.study
    for key in ("workloads", swarm, "populations", population):
        place = _table(place, key)
    upload = place.get("upload")
    return f" ({upload})" if isinstance(upload, str) and upload != "unlimited" else ""


def _table(content: Any, key: str) -> Mapping[str, Any]:
    found = content.get(key) if isinstance(content, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def _disks(results: Source, runs: list[int] | None) -> Iterator[str]:
    """How busy the disk of each content server was, and what it read for what was sent."""
    rows = _rows(results, "origins", runs)
    if rows is None:
        return
    for name in source.distinct(rows, "origin"):
        own = source.where(rows, "origin", name)
        seconds = float((source.numbers(own, "to_s") - source.numbers(own, "from_s")).sum())
        if seconds <= 0:
            continue
        busy = float(source.numbers(own, "disk_busy_s").sum()) / seconds
        read, sent = (
            number(float(source.numbers(own, column).sum()) / 1e6 / seconds, 1)
            for column in ("read_bytes", "sent_bytes")
        )
        did = f"it read {read} MB/s for {sent} MB/s that the server sent."
        if busy >= BUSY:
            yield f"The disk of {name} was busy all the time ({_per_cent(busy)}): {did}"
        else:
            yield f"The disk of {name} was busy {_per_cent(busy)} of the time: {did}"


def _links(results: Source, runs: list[int] | None) -> Iterator[str]:
    """The busiest link: access lines of a group together, shared links one by one."""
    rows = _rows(results, "links", runs)
    if rows is None:
        return
    names, used = source.strings(rows, "link"), source.numbers(rows, "utilisation")
    groups = _table(_table(results.study, "network"), "groups")
    kinds = np.asarray([_kind(str(name), groups) for name in names], dtype=object)
    busiest: tuple[float, str, np.ndarray] | None = None
    for kind in dict.fromkeys(kinds.tolist()):
        chosen = (kinds == kind) & ~np.isnan(used)
        if chosen.any():
            mean = float(used[chosen].mean())
            if busiest is None or mean > busiest[0]:
                busiest = (mean, str(kind), chosen)
    if busiest is None:
        return
    mean, kind, chosen = busiest
    waits, packets = source.numbers(rows, "mean_queue_delay_s"), source.numbers(rows, "packets")
    waited = chosen & ~np.isnan(waits) & (packets > 0)
    wait_s = float(np.average(waits[waited], weights=packets[waited])) if waited.any() else 0.0
    wait = f"packets waited {_milliseconds(wait_s)} for it on average"
    carried = f"carried {_per_cent(mean)} of what it could, and {wait}."
    if mean >= BUSY:
        yield f"{sentence(kind)} was full: it {carried}"
    else:
        yield f"No line was full all the time. The busiest, {kind}, {carried}"


def _kind(link: str, groups: Mapping[str, Any]) -> str:
    """What a link is called: those of the hosts of a group are one."""
    match = _ACCESS.fullmatch(link)
    if match is None or match["group"] not in groups:
        return f"the link {link}"
    hosts = _table(groups, match["group"]).get("hosts", 1)
    each = "of each of " if isinstance(hosts, int) and hosts > 1 else "of "
    return f"the {match['way']}link {each}{match['group']}"


def _per_cent(share: float) -> str:
    per_cent = 100 * share
    if 99 < per_cent < 100 or 0 < per_cent < 1:
        return f"{number(per_cent, 1)} %"
    return f"{number(per_cent, 0)} %"


def _milliseconds(seconds: float) -> str:
    return f"{number(1e3 * seconds, 0 if seconds >= 0.01 else 1)} ms"
