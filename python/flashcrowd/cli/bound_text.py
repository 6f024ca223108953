"""The bounds that `check` prints, which follow from the lines alone, in words."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from flashcrowd.base.amounts import duration, scaled
from flashcrowd.report.setting_names import short_name
from flashcrowd.report.sweep_values import shown
from flashcrowd.scenario.scenario import Scenario
from flashcrowd.scenario.swarm import Swarm
from flashcrowd.study import Point, Study
from flashcrowd.study.bound import Bound, all_stay, bounds

MOST_IN_WORDS = 3
"""More bounds than this have a row each in a table."""
MOST_ROWS = 20
"""More than this are not printed one by one."""
MOST_VALUES = 3
"""More values of one setting are counted rather than named."""


@dataclass(frozen=True)
class _Said:
    """A bound, and what else words need of its workload."""

    workload: str
    bound: Bound
    asked_s: float | None
    stay: bool


def lines(study: Study, points: Sequence[Point]) -> list[str]:
    """Bounds from the lines alone at the points of a study; equal ones once. None without files."""
    found: dict[_Said, list[int]] = {}
    for point in points:
        for said in _of(point.scenario):
            found.setdefault(said, []).append(point.index)
    if not found:
        return []
    head = ["What the lines alone say; no run is faster:"]
    whose = {said: f"{said.workload}, {_where(study, which, len(points))}"
             for said, which in found.items()}  # fmt: skip
    if len(found) > MOST_IN_WORDS:
        return [*head, *_table(whose), *_least_shares(found)]
    for said, where in whose.items():
        name = where if len(points) > 1 else said.workload
        head += [f"  {name}: {_total(said.bound)}.", *(f"    {it}" for it in _sentences(said))]
    return head


def _where(study: Study, which: Sequence[int], of: int) -> str:
    """Points by their numbers, and the swept values that these have and others have not."""
    said = numbered(which, of)
    every = [path for axis in study.sweep for path in axis]
    apart, values = 1, []
    for number, axis in reversed(list(enumerate(study.sweep))):
        path, levels = next(iter(axis.items()))
        own = sorted({index // apart % len(levels) for index in which})
        apart *= len(levels)
        if len(own) == len(levels):
            continue
        named = number == 0 and len(study.report.cases) == len(levels)
        texts = [study.report.cases[it] if named else shown(levels[it]) for it in own]
        if len(texts) > MOST_VALUES:
            texts = [f"{len(texts)} values"]
        name = "" if named else f"{short_name(path, every)} "
        values.append(f"{name}{' or '.join(dict.fromkeys(texts))}")
    return f"{said} ({', '.join(reversed(values))})" if values else said


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
    if not math.isfinite(bound.fastest_s):
        return [f"No download can end: {_never(bound)}."]
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


def _never(bound: Bound) -> str:
    """Why a download has no end."""
    return "the source sends nothing" if not bound.source_bps else "a line down carries nothing"


def _shares(said: _Said) -> Iterator[str]:
    """The share that peers must send, for the fastest end and for the time that is asked."""
    bound, asked = said.bound, said.asked_s
    fastest = bound.fastest_s
    if bound.peers_bps and math.isfinite(fastest) and bound.from_peers(fastest):
        yield f"As fast as that, peers send at least {_percent(bound, fastest)}."
    if asked is not None and asked < fastest:
        yield f"{_time(asked)} (stop.horizon) is too short."
    elif asked is not None and bound.from_peers(asked):
        whole = f"To be done in {_time(asked)} (stop.horizon), {_rate(bound.needed_bps(asked))}"
        yield f"{whole} are needed: peers or a CDN send at least {_percent(bound, asked)}."
    if least := _least_share(said):
        yield f"For {_time(asked or 0)}, {least}."


def _least_share(said: _Said) -> str:
    """Which share of the hosts must upload at least to be done in the time that is asked."""
    share = None if said.asked_s is None else said.bound.least_share(said.asked_s)
    if not share:
        return ""
    # Up, as less is not enough.
    digits = 1 - math.floor(math.log10(100 * share))
    least = math.ceil(round(100 * share * 10**digits, 6)) / 10**digits
    return f"at least {least:g} % of the hosts must upload, as fast as lines and limits allow"


def _least_shares(found: Iterable[_Said]) -> list[str]:
    """The same for a table, each different one once."""
    told = {
        f"  {said.workload}: for {_time(said.asked_s or 0)} (stop.horizon), {least}."
        for said in found
        if (least := _least_share(said))
    }
    return sorted(told) if len(told) <= MOST_IN_WORDS else []


def _percent(bound: Bound, seconds: float) -> str:
    share = bound.from_peers(seconds) * 100
    # Down, as it is a least part: never "100 %" of what is not all.
    shown = math.floor(share * 10) / 10 if share > 99 else math.floor(share)
    return f"{shown:g} % of the bytes"


def _table(whose: Mapping[_Said, str]) -> list[str]:
    found = list(whose)
    if len(found) > MOST_ROWS:
        order = sorted(found, key=lambda it: it.bound.fastest_s)
        found = [order[0], order[-1]]
    asked = any(said.asked_s is not None for said in found)
    head = ("", "bytes", "source alone", "slowest line", "not before", "from peers")
    rows: list[tuple[str, ...]] = [(*head, "stop.horizon") if asked else head]
    for said in found:
        bound = said.bound
        peers = math.isfinite(bound.fastest_s) and bound.from_peers(bound.fastest_s)
        row = (
            whose[said],
            _total(bound),
            _time(bound.alone_s),
            _time(bound.slowest_s),
            f"{_time(bound.fastest_s)}: {bound.reason}",
            f"≥ {_percent(bound, bound.fastest_s).partition(' of')[0]}" if peers else "",
        )
        rows.append((*row, _verdict(said)) if asked else row)
    return columns(rows)


def _verdict(said: _Said) -> str:
    """Whether the time that is asked is long enough for the lines."""
    if said.asked_s is None:
        return ""
    return f"{_time(said.asked_s)}{': too short' if said.asked_s < said.bound.fastest_s else ''}"


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
    return duration(seconds) if math.isfinite(seconds) else "never"
