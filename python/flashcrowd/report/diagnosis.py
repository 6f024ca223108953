"""Why it took so long: what held a run up, as a table, with shares of time.

Reads the tables `populations`, `origins`, `links` and `runs` and the resolved study. Shares are
means over the runs, each peer of a population counting for as long as it was there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from flashcrowd.drawing.blocks import Cell, Table
from flashcrowd.report import source
from flashcrowd.report.points import RUN_COLUMNS, Point
from flashcrowd.report.source import Source
from flashcrowd.report.waits import BLOATED_S, milliseconds, per_cent, rows_of, table_of, waits
from flashcrowd.report.wording import number, sentence

TELLING = 0.02
"""Smaller shares of a time explain nothing."""
MOST_COLUMNS = 6
"""More points than these are not shown side by side: only those that tell most."""


@dataclass(frozen=True, slots=True)
class Fact:
    """Something that held a run up.

    Attributes:
        what: what it is, as the heading of a row; that of other points is the same.
        value: how much, to compare points by: a share of 1, a count, or seconds.
        shown: the value as text.
        detail: what it is about, below the value.
        share: whether the value is a share: shares differ by their difference, others by a factor.
    """

    what: str
    value: float
    shown: str
    detail: str = ""
    share: bool = False


_WAITS = {
    "choked_share": "waited for a slot",
    "uninterested_share": "neighbours had nothing to ask for",
    "alone_share": "had no neighbour yet",
}

_NOTHING = "0 "
"""The begin of an upload limit that lets nothing through."""


def facts(results: Source, point: Point | None = None) -> list[Fact]:
    """What held the runs of a point up, or those of all points, the most telling first.

    Args:
        results: tables and study.
        point: whose runs; all without one.
    """
    runs = None if point is None else [run.run for run in point.runs]
    return [
        *_outcomes(rows_of(results, "runs", runs)),
        *_swarms(results, runs),
        *_disks(results, runs),
        *_links(results, runs),
    ]


def table(results: Source, points: Sequence[Point]) -> Table | None:
    """The causes that held up the runs of some points, a column each, the largest difference first.

    ``None`` where nothing is known.
    """
    found = [{fact.what: fact for fact in facts(results, point)} for point in points]
    names = list(dict.fromkeys(name for of_point in found for name in of_point))
    if not names:
        return None
    names.sort(key=lambda name: -_difference([of.get(name) for of in found]))
    rows = [[name, *(_cell(of.get(name)) for of in found)] for name in names]
    same = " The largest difference comes first." if len(points) > 1 else ""
    caption = (
        "Each cell is the mean over the runs of a point. A share of time is a share of the time in "
        f"which peers waited.{same} –: too little to matter."
    )
    heads = [point.label for point in points] if len(points) > 1 else ["all runs"]
    return Table(["", *heads], rows, caption)


def _cell(fact: Fact | None) -> Cell:
    return Cell("–") if fact is None else Cell(fact.shown, fact.detail)


def _difference(found: Sequence[Fact | None]) -> float:
    """How far apart the points are in something: shares as they are, others over the largest."""
    values = [0.0 if fact is None else fact.value for fact in found]
    largest = 1.0 if any(fact and fact.share for fact in found) else max(values)
    return (max(values) - min(values)) / largest if largest > 0 else 0.0


_ENDS = (
    ("failed", "failed"),
    ("undelivered", "did not deliver everything"),
    ("stalled", "got stuck"),
    ("horizon", "were cut off by the horizon"),
    ("invalid", "were not emulated as exactly as they must be"),
)


def _outcomes(rows: pa.Table | None) -> Iterator[Fact]:
    if rows is None:
        return
    outcomes = source.strings(rows, "outcome")
    for outcome, words in _ENDS:
        if many := int((outcomes == outcome).sum()):
            yield Fact(f"runs that {words}", many, f"{many} of {rows.num_rows}")


def _swarms(results: Source, runs: list[int] | None) -> Iterator[Fact]:
    rows = rows_of(results, "populations", runs)
    if rows is None:
        return
    names = source.distinct(rows, "swarm")
    for name in names:
        prefix = f"{name}: " if len(names) > 1 else ""
        of_swarm = source.where(rows, "swarm", name)
        for fact in _swarm(results, runs, name, of_swarm):
            yield replace(fact, what=sentence(prefix + fact.what))


def _swarm(results: Source, runs: list[int] | None, swarm: str, rows: pa.Table) -> Iterator[Fact]:
    populations = source.strings(rows, "population")
    roles = source.strings(rows, "role")
    found: list[Fact] = []
    for name, role in dict.fromkeys(zip(populations, roles, strict=True)):
        own = rows.filter(pa.array((populations == name) & (roles == role), type=pa.bool_()))
        limited = _share(own, "limited_share", "needed_s")
        if limited >= TELLING:
            found.append(_of_time(f"{name}: upload limit used up", limited))
        idle = _share(own, "idle_share", "needed_s")
        if _limit(results, runs, swarm, str(name)).startswith(_NOTHING):
            found.append(_of_time(f"{name}: not allowed to upload", 1.0))
        elif idle >= TELLING:
            found.append(_of_time(f"{name}: nothing to upload", idle))
        for column, what in _WAITS.items():
            share = _share(own, column, "downloading_s")
            if share >= TELLING:
                found.append(_of_time(f"{name}: {what}", share))
    yield from sorted(found, key=lambda fact: -fact.value)
    yield from _bytes(rows, roles)


def _of_time(what: str, share: float) -> Fact:
    return Fact(what, share, per_cent(share), share=True)


def _bytes(rows: pa.Table, roles: np.ndarray) -> Iterator[Fact]:
    """Senders of the bytes, wasted bytes, and retransmission timeouts."""
    up, down = source.numbers(rows, "uploaded_bytes"), source.numbers(rows, "downloaded_bytes")
    if up.sum() > 0:
        saved = up[roles == "leecher"].sum() / up.sum()
        yield _of_time("share of the upload that leechers sent", float(saved))
    wasted = source.numbers(rows, "wasted_bytes").sum() / max(down.sum(), 1.0)
    if wasted >= TELLING:
        yield _of_time("downloaded twice, or given up", float(wasted))
    peers = source.numbers(rows, "peers").sum()
    timeouts = source.numbers(rows, "timeouts").sum() / max(peers, 1.0)
    if timeouts >= 1:
        shown = number(timeouts, 1)
        yield Fact("retransmission timeouts per peer", float(timeouts), shown)


def _share(rows: pa.Table, column: str, of: str) -> float:
    """The mean share of a time, each row weighted with that time; zero without one."""
    shares, weights = source.numbers(rows, column), source.numbers(rows, of)
    known = ~np.isnan(shares) & (weights > 0)
    return float(np.average(shares[known], weights=weights[known])) if known.any() else 0.0


def _limit(results: Source, runs: list[int] | None, swarm: str, population: str) -> str:
    """The upload limit, where all of these runs have the same all the time."""
    path = f"workloads.{swarm}.populations.{population}.upload"
    if any(change.get("change") == path for change in table_of(results.study, "timeline").values()):
        return ""
    rows = rows_of(results, "runs", runs)
    if rows is not None and path in rows.column_names and path not in RUN_COLUMNS:
        values = set(rows.column(path).to_pylist())
        return str(values.pop()) if len(values) == 1 else ""
    place: Any = results.study
    for key in ("workloads", swarm, "populations", population):
        place = table_of(place, key)
    upload = place.get("upload")
    return upload if isinstance(upload, str) else ""


def _disks(results: Source, runs: list[int] | None) -> Iterator[Fact]:
    """How busy the disk of each content server was."""
    rows = rows_of(results, "origins", runs)
    if rows is None:
        return
    for name in source.distinct(rows, "origin"):
        own = source.where(rows, "origin", name)
        seconds = float((source.numbers(own, "to_s") - source.numbers(own, "from_s")).sum())
        if seconds <= 0:
            continue
        busy = float(source.numbers(own, "disk_busy_s").sum()) / seconds
        yield _of_time(f"Disk of {name}: busy", busy)


def _links(results: Source, runs: list[int] | None) -> Iterator[Fact]:
    """The busiest link: access lines of a group together, shared links one by one."""
    found = list(waits(results, runs))
    if not found:
        return
    busiest = max(found, key=lambda each: each.used)
    line = busiest.kind.removeprefix("the ")
    yield Fact("Busiest line: used", busiest.used, per_cent(busiest.used), line, share=True)
    for it in found:
        if it.wait_s >= BLOATED_S / 10:
            yield Fact(f"Packets waited for {it.kind}", it.wait_s, milliseconds(it.wait_s))
