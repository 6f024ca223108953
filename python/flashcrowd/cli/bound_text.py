"""What `check` says of the lines alone, in words."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from flashcrowd.amounts import duration, scaled
from flashcrowd.scenario.scenario import Scenario
from flashcrowd.scenario.swarm import Swarm
from flashcrowd.study.bound import Bound, all_stay, bounds

TOO_BIG = "docs/too-big.md"
"""The page that says how to shrink a crowd."""

MOST_IN_WORDS = 3
"""More bounds than this have a row each in a table."""
MOST_ROWS = 20
"""More than this are not printed one by one."""


@dataclass(frozen=True)
class _Said:
    """A bound, and what else words need of its workload."""

    workload: str
    bound: Bound
    asked_s: float | None
    stay: bool


def lines(scenarios: Sequence[Scenario]) -> list[str]:
    """What the lines alone say of the points of a study; equal bounds once. None without files."""
    points: dict[_Said, list[int]] = {}
    for index, scenario in enumerate(scenarios):
        for said in _of(scenario):
            points.setdefault(said, []).append(index)
    if not points:
        return []
    head = ["What the lines alone say; no run is faster:"]
    if len(points) > MOST_IN_WORDS:
        return head + _table(points)
    several = len(scenarios) > 1
    for said, where in points.items():
        whose = f"{said.workload}, {numbered(where, len(scenarios))}" if several else said.workload
        head += [f"  {whose}: {_total(said.bound)}.", *(f"    {it}" for it in _sentences(said))]
    return head


def _of(scenario: Scenario) -> Iterable[_Said]:
    given = "horizon" in scenario.stop.model_fields_set
    asked = scenario.stop.horizon.seconds if given else None
    for name, found in bounds(scenario).items():
        workload = scenario.workloads[name]
        stay = not isinstance(workload, Swarm) or all_stay(workload.populations)
        yield _Said(name, found, asked, stay)


def _total(bound: Bound) -> str:
    size, total = (_bytes(it) for it in (bound.size_bytes, bound.total_bytes))
    return f"{size} × {bound.downloads:,} = {total}"


def _sentences(said: _Said) -> list[str]:
    bound = said.bound
    told: list[str] = []
    if math.isfinite(bound.source_bps):
        told.append(f"The source alone takes {_time(bound.alone_s)} at {_rate(bound.source_bps)}.")
    if math.isfinite(bound.down_bps):
        slowest = f"The slowest line takes {_time(bound.slowest_s)} at {_rate(bound.down_bps)}"
        told.append(f"{slowest} down.")
    total = bound.source_bps + bound.peers_bps
    if bound.peers_bps and math.isfinite(total):
        told.append(f"All lines up together take {_time(bound.together_s)} at {_rate(total)}.")
        if bound.copy_s == bound.fastest_s:
            told.append(f"The source takes {_time(bound.copy_s)} for the first copy.")
    if not bound.fastest_s:
        return [*told, "No line limits it."]
    stay = "" if said.stay else ", if all stay until then"
    told.append(f"The last download cannot end before {_time(bound.fastest_s)}{stay}.")
    return [*told, *_shares(said)]


def _shares(said: _Said) -> Iterator[str]:
    """What peers must send, to be as fast as possible and to be done in the time that is asked."""
    bound, asked = said.bound, said.asked_s
    fastest = bound.fastest_s
    if bound.peers_bps and math.isfinite(fastest) and bound.from_peers(fastest):
        yield f"As fast as that, peers send at least {_percent(bound, fastest)}."
    if asked is not None and asked < fastest:
        yield f"{_time(asked)} (stop.horizon) are too short."
    elif asked is not None and bound.from_peers(asked):
        whole = f"To be done in {_time(asked)} (stop.horizon), {_rate(bound.needed_bps(asked))}"
        yield f"{whole} are needed: peers or a CDN send at least {_percent(bound, asked)}."


def _percent(bound: Bound, seconds: float) -> str:
    share = bound.from_peers(seconds) * 100
    # Down, as it is a least part: never "100 %" of what is not all.
    shown = math.floor(share * 10) / 10 if share > 99 else math.floor(share)
    return f"{shown:g} % of the bytes"


def _table(points: Mapping[_Said, Sequence[int]]) -> list[str]:
    found = sorted(points, key=lambda it: points[it][0])
    if len(found) > MOST_ROWS:
        order = sorted(found, key=lambda it: it.bound.fastest_s)
        found = [order[0], order[-1]]
    rows = [("", "bytes", "source alone", "slowest line", "not before", "from peers")]
    for said in found:
        bound = said.bound
        peers = math.isfinite(bound.fastest_s) and bound.from_peers(bound.fastest_s)
        rows.append(
            (
                f"{said.workload}, {numbered(points[said])}",
                _total(bound),
                _time(bound.alone_s),
                _time(bound.slowest_s),
                f"{_time(bound.fastest_s)}: {bound.reason}",
                f"≥ {_percent(bound, bound.fastest_s).partition(' of')[0]}" if peers else "",
            )
        )
    return columns(rows)


def columns(rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows of cells, each column as wide as its widest cell."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    cells = ([f"{cell:<{wide}}" for cell, wide in zip(row, widths, strict=True)] for row in rows)
    return ["  " + "  ".join(row).rstrip() for row in cells]


def numbered(points: Sequence[int], of: int = 0) -> str:
    """Points by their numbers, as in "points 0 to 3, 7"."""
    if len(points) == of:
        return "each point"
    runs: list[list[int]] = []
    for point in points:
        if runs and point == runs[-1][1] + 1:
            runs[-1][1] = point
        else:
            runs.append([point, point])
    words = [
        str(low) if low == high else f"{low} to {high}" if high > low + 1 else f"{low}, {high}"
        for low, high in runs
    ]
    return f"point{'s' if len(points) > 1 else ''} {', '.join(words)}"


def _bytes(count: float) -> str:
    return scaled(count, "B", "kMGTPE")


def _rate(bps: float) -> str:
    return scaled(bps, "bit/s") if math.isfinite(bps) else "any rate"


def _time(seconds: float) -> str:
    return duration(seconds) if math.isfinite(seconds) else "for ever"
