"""A swarm's playback: the pieces of each peer over time, with rates and queues, from the tables."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TypedDict

import numpy as np
import pyarrow as pa

from flashcrowd.drawing.blocks import Playback
from flashcrowd.report import piece_map, source
from flashcrowd.report.charts.series import NAMES
from flashcrowd.report.points import Points, Run
from flashcrowd.report.source import Source

#: Steps of all runs together: three bytes each, four thirds of it in base64, are half a megabyte.
MOST_STEPS = 120_000

#: More rows than this cannot be distinguished.
MOST_PEERS = 1000

#: Instants of a line, and lines under a map.
_INSTANTS = 200
_MOST_LINES = 6

#: Series that are shown under the map, the most telling first.
_SERIES = ("swarm-rate", "queue-delay", "queue-packets", "link-rate", "goodput")

_CAPTION = (
    "Playback. A row is a leecher, in order of arrival; a column is {column}. Filled: what it has; "
    "green: it has the whole file; pale: it has left. Below, rates and queues over the same time. "
    "The first run of each point that came to its end{left_out}."
)


class Line(TypedDict):
    """A series of a run: values `v` at the instants `t`."""

    name: str
    unit: str
    t: list[float]
    v: list[float]


class Picture(TypedDict):
    """One run of one swarm as the page's script reads it."""

    end: float
    tick: float
    pieces: int
    columns: int
    levels: int
    leechers: int
    populations: list[str]
    peers: list[list[int]]
    have: str


def playback(results: Source, points: Points, slug: str = "playback") -> Playback | None:
    """The playback of a study's swarms, or ``None`` without the table ``have``.

    Args:
        results: what the study recorded.
        points: its points; the first good run of each is shown while there is room.
        slug: its name in the page.
    """
    have, downloads = (source.table(results, name) for name in ("have", "downloads"))
    if have is None or downloads is None:
        return None
    series = source.table(results, "series")
    shown: list[dict[str, object]] = []
    steps, hidden, shared = 0, 0, 1
    for label, run, swarm in _chosen(points, source.distinct(have, "swarm")):
        made = _run(
            _of(have, run.run, swarm), _of(downloads, run.run, swarm), run, MOST_STEPS - steps
        )
        if made is None:
            continue
        size = len(made["peers"]) * made["columns"] * made["levels"]
        if steps + size > MOST_STEPS:
            hidden += 1
            continue
        steps += size
        shared = max(shared, -(-made["pieces"] // made["columns"]))
        lines = [] if series is None else list(_lines(series, run, swarm, results))
        shown.append({"label": label, **made, "lines": lines})
    if not shown:
        return None
    column = "a piece" if shared == 1 else f"up to {shared} pieces next to each other"
    left_out = f"; {hidden} more are left out, for the page's weight" if hidden else ""
    caption = _CAPTION.format(column=column, left_out=left_out)
    alt = f"Playback of the pieces of each peer, {len(shown)} run{'' if len(shown) == 1 else 's'}"
    text = json.dumps({"runs": shown}, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return Playback(slug, text, caption, alt)


def _chosen(points: Points, swarms: list[str]) -> Iterator[tuple[str, Run, str]]:
    """The choices: a run for each point, or for each swarm of each point."""
    for point in points.points:
        for swarm in swarms:
            names = [point.label] if len(points.points) > 1 else []
            names += [swarm] if len(swarms) > 1 or not names else []
            if point.good_runs:
                yield ", ".join(names), point.good_runs[0], swarm


def _of(rows: pa.Table, run: int, swarm: str) -> pa.Table:
    chosen = source.integers(rows, "run") == run
    return source.where(rows.filter(pa.array(chosen, type=pa.bool_())), "swarm", swarm)


def _run(have: pa.Table, downloads: pa.Table, run: Run, most_steps: int) -> Picture | None:
    """One run of one swarm as the page's script reads it."""
    if not have.num_rows or not downloads.num_rows:
        return None
    who = source.integers(downloads, "peer")
    arrived = source.numbers(downloads, "arrived_s")
    order = np.lexsort((who, arrived))
    if len(order) > MOST_PEERS:
        order = order[np.linspace(0, len(order) - 1, MOST_PEERS).astype(int)]
    peers, pieces = source.integers(have, "peer"), source.integers(have, "piece")
    times = source.numbers(have, "t_s")
    by_time = np.lexsort((times, peers))
    peers, pieces, times = peers[by_time], pieces[by_time], times[by_time]
    grid = piece_map.grid(int(pieces.max()) + 1, run.end_s, len(order), max(most_steps, 1))
    first, last = (np.searchsorted(peers, who[order], side) for side in ("left", "right"))
    found = [(times[a:b], pieces[a:b]) for a, b in zip(first, last, strict=True)]
    populations = source.distinct(downloads, "population")
    names = source.strings(downloads, "population")
    ends = [source.numbers(downloads, name) for name in ("completed_s", "left_s")]
    return {
        "end": run.end_s,
        "tick": grid.tick_s,
        "pieces": grid.pieces,
        "columns": grid.columns,
        "levels": grid.levels,
        "leechers": len(who),
        "populations": populations,
        "peers": [
            [int(who[i]), populations.index(str(names[i])), grid.ticks(float(arrived[i])),
             *(-1 if np.isnan(end[i]) else grid.ticks(float(end[i])) for end in ends)]
            for i in order.tolist()
        ],
        "have": piece_map.pack(grid, found),
    }  # fmt: skip


def _lines(series: pa.Table, run: Run, swarm: str, results: Source) -> Iterator[Line]:
    """Rates and queues of the run over time, each on at most `_INSTANTS` instants."""
    mine = series.filter(pa.array(source.integers(series, "run") == run.run, type=pa.bool_()))
    kinds, origins = source.strings(mine, "what"), source.strings(mine, "source")
    t_s, values = source.numbers(mine, "t_s"), source.numbers(mine, "value")
    drawn = 0
    swarms = _swarms(results)
    for kind in _SERIES:
        for origin in dict.fromkeys(origins[kinds == kind].tolist()):
            if drawn >= _MOST_LINES or (origin in swarms and origin != swarm):
                continue
            drawn += 1
            chosen = (kinds == kind) & (origins == origin) & ~np.isnan(values)
            name, unit, factor = NAMES[kind]
            times, heights = _thinned(t_s[chosen], values[chosen] * factor)
            named = name if origin == swarm else f"{name}, {origin}"
            yield {"name": named, "unit": unit, "t": times, "v": heights}


def _swarms(results: Source) -> set[str]:
    rows = source.table(results, "downloads")
    return set() if rows is None else set(source.distinct(rows, "swarm"))


def _thinned(t_s: np.ndarray, values: np.ndarray) -> tuple[list[float], list[float]]:
    """Means over equal stretches of time, of three figures each."""
    if len(t_s) > _INSTANTS:
        edges = np.linspace(t_s[0], t_s[-1], _INSTANTS + 1)
        place = np.clip(np.searchsorted(edges, t_s, "right") - 1, 0, _INSTANTS - 1)
        count = np.bincount(place, minlength=_INSTANTS)
        kept = count > 0
        sums = (np.bincount(place, weights=column, minlength=_INSTANTS) for column in (t_s, values))
        t_s, values = (total[kept] / count[kept] for total in sums)
    return [float(f"{t:.6g}") for t in t_s], [float(f"{value:.3g}") for value in values]
