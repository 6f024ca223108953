"""The tables of a report: measures by point, outcomes, unchokes, links, round-trip estimates."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from flashcrowd.drawing.blocks import Cell, Table
from flashcrowd.report import columns, source, wording
from flashcrowd.report.headline import Headline
from flashcrowd.report.measure import Measure
from flashcrowd.report.observations import Observations
from flashcrowd.report.points import Point, Points
from flashcrowd.report.statistics import Estimate, estimate
from flashcrowd.report.sweep_values import shown

#: Tables with more rows are folded.
_MOST_ROWS = 25

#: Statistics of the spread of observations.
SPREAD = ("mean", "median", "p5", "p95", "p99")

#: Links and files that are shown at each point.
_MOST_NAMES = 12


def of_headline(headline: Headline, points: Points, measures: Sequence[Measure]) -> Table:
    """Measures side by side, each with its change, a row a point."""
    header = [*_headings(points), "runs"]
    added: list[Sequence[str | Cell]] = []
    for measure in measures:
        found = columns.of_measure(measure, points.points)
        unit, shown_in = columns.scaled(measure.unit, found)
        header.append(columns.heading(measure.name, unit))
        added.append(columns.cells(shown_in))
        if headline.compares(measure):
            header.append("change")
            added.append(_changes(headline, measure, points))
    rows: list[list[str | Cell]] = [
        [*_values(points, point), _count(point, counted(point, measures)), *cells]
        for point, *cells in zip(points.points, *added, strict=True)
    ]
    caption = f"{columns_of(measures)}. {_over(points)}{_against(headline)} "
    caption += explained(measures)
    return Table(header, rows, caption.strip(), _words(points), folded=len(rows) > _MOST_ROWS)


def columns_of(measures: Sequence[Measure]) -> str:
    """The content of the table, in as many words as it has columns."""
    names = [measure.name for measure in measures]
    apart = any("," in name for name in names)
    return wording.sentence("; ".join(names) if apart else wording.listed(names))


def of_parts(headline: Headline, points: Points, parts: Mapping[str, Measure]) -> Table:
    """The same for a measure of each part, by the part's name; the table before says what it is."""
    found = of_headline(headline, points, list(parts.values()))
    names = list(parts)
    return replace(found, caption=f"The same for {', '.join(names[:-1])} and {names[-1]} alone.")


def counted(point: Point, measures: Sequence[Measure]) -> int:
    """How many runs of a point count in the measures: those that ended as planned, or more."""
    return max([len(point.good_runs), *(len(measure.runs_of(point)) for measure in measures)])


def explained(measures: Sequence[Measure]) -> str:
    """The columns of these measures, each by its name."""
    names: dict[str, list[str]] = {}
    for measure in measures:
        if measure.note:
            names.setdefault(measure.note, []).append(measure.name)
    return " ".join(
        f"{wording.sentence(' and '.join(dict.fromkeys(found)))}: {_inside(note)}"
        for note, found in names.items()
    )


def _inside(note: str) -> str:
    """A note after a colon: it begins with a small letter, but for an abbreviation."""
    return note if note[:2].isupper() else note[:1].lower() + note[1:]


def of_measure(headline: Headline, measure: Measure, points: Points) -> Table:
    """Mean, interval, range and change of one measure, a row a point; folded."""
    found = columns.of_measure(measure, points.points)
    unit, shown_in = columns.scaled(measure.unit, found)
    header = [*_headings(points), "runs", columns.heading("mean", unit), "smallest to largest run"]
    means = [
        Cell("no complete run", mark="bad") if cell.text == columns.NONE else cell
        for cell in columns.cells(shown_in)
    ]
    added: list[Sequence[str | Cell]] = [means, columns.ranges(shown_in)]
    if headline.baseline:
        header.append("change")
        added.append(_changes(headline, measure, points))
    rows: list[list[str | Cell]] = [
        [*_values(points, point), _count(point, mean.n if mean else 0), *cells]
        for point, mean, *cells in zip(points.points, found, *added, strict=True)
    ]
    caption = (
        f"{wording.sentence(measure.name)}. {measure.note} {_over(points)}{_against(headline)}"
    )
    return Table(header, rows, caption, _words(points), folded=len(rows) > _MOST_ROWS // 2)


def spread(observed: Observations, points: Points) -> Table:
    """Mean and percentiles of a metric, a row for each point and each part of the peers."""
    parts: list[tuple[str, Observations]] = [("all", observed)]
    for part in observed.parts:
        names = observed.names(part)
        if len(names) > 1:
            parts += [(f"{part} {name}", observed.only(part, name)) for name in names]
    measures = [[each.measure(s) for s in SPREAD] for _, each in parts]
    rows: list[columns.Row] = []
    for point in points.points:
        for (name, _), of_part in zip(parts, measures, strict=True):
            found = [measure.at(point) for measure in of_part]
            count = max((each.n for each in found if each), default=0)
            who = [name] if len(parts) > 1 else []
            rows.append([*_values(points, point), *who, wording.runs(count), *found])
    who = ["of"] if len(parts) > 1 else []
    titles = [columns.heading(name, observed.metric.unit) for name in SPREAD]
    header = [*_headings(points), *who, "runs", *titles]
    whose = "" if observed.of in observed.metric.name else f" of {observed.of}"
    caption = (
        f"{wording.sentence(observed.metric.name)}{whose}. {observed.metric.meaning} Each number "
        "is taken in every run; means of these over the runs, their 95 % intervals below."
    )
    words = _words(points) | ({len(points.axes) or 1} if who else set())
    folded = len(rows) > _MOST_ROWS // 2
    return columns.table(header, rows, caption, frozenset(words), folded)


def _over(points: Points) -> str:
    """The subject of the numbers of a table."""
    if all(len(point.runs) == 1 for point in points.points):
        return "One run a point: samples, without intervals."
    return "Means over runs, their 95 % intervals below."


def _against(headline: Headline) -> str:
    if headline.baseline is None:
        return ""
    return f" Changes are against {headline.baseline.words}, in pairs of runs that share a seed."


def _changes(headline: Headline, measure: Measure, points: Points) -> list[str | Cell]:
    """A column of changes against the baseline, which says that it is one."""
    found = [
        None if _is_baseline(headline, point) else headline.change(measure, point)
        for point in points.points
    ]
    shown_in = columns.changes(found, columns.of_measure(measure, points.points))
    return [
        "baseline" if _is_baseline(headline, point) else cell
        for point, cell in zip(points.points, shown_in, strict=True)
    ]


def _is_baseline(headline: Headline, point: Point) -> bool:
    return headline.baseline is None or headline.baseline.of(point) is None


def _count(point: Point, counted: int) -> str | Cell:
    bad = len(point.runs) - len(point.good_runs)
    text = f"n = {counted}"
    return Cell(text, f"{bad} of {len(point.runs)} not complete", "bad") if bad else text


def outcomes(points: Points) -> Table | None:
    """Every run that did not end as planned, with the reason; ``None`` if all did."""
    bad = [(point, run) for point in points.points for run in point.runs if not run.good]
    if not bad:
        return None
    rows = [
        [*_values(points, point), str(run.repeat), str(run.seed), Cell(run.outcome, mark="bad"),
         run.reason or "no reason given", wording.plain(run.end_s)]
        for point, run in bad
    ]  # fmt: skip
    header = [*_headings(points), "repeat", "seed", "outcome", "reason", "ended at (s)"]
    caption = (
        f"{wording.count(len(bad), 'run')} of {len(points.runs)} did not end as planned. "
        "They are drawn in the curves and left out of every mean, but for those of a measuring "
        "window that had closed by then."
    )
    words = _words(points) | {len(points.axes) + 2, len(points.axes) + 3}
    return Table(header, rows, caption, frozenset(words))


def unchokes(rows: pa.Table, points: Points) -> Table:
    """How many unchokes of seeds ended, and how many of them abruptly, a row a point."""
    runs = source.integers(rows, "run")
    seeding = source.integers(rows, "seeding") == 1
    idle = source.strings(rows, "cause") == "idle"
    length = source.numbers(rows, "end_s") - source.numbers(rows, "start_s")
    body: list[columns.Row] = []
    for point in points.points:
        ended, abrupt, lengths = [], [], []
        for run in point.good_runs:
            mine = (runs == run.run) & seeding
            ended.append(float(mine.sum()))
            abrupt.append(float((mine & idle).sum()))
            if mine.any():
                lengths.append(float(length[mine].mean()))
        means = [_mean(values) for values in (ended, abrupt, lengths)]
        body.append([*_values(points, point), wording.runs(len(ended)), *means])
    header = [*_headings(points), "runs", "unchokes ended", "of these, idle", "mean length (s)"]
    caption = (
        "Unchokes by peers that have the whole file, per run. Idle: a round of the choker came "
        "while the leecher's next request was still on its way, and the slot was taken away."
    )
    return columns.table(header, body, caption, _words(points), folded=len(body) > 12)


def rtts(rows: pa.Table, points: Points) -> Table:
    """TCP's own estimate of the round-trip time, a row for each point and population."""
    runs = source.integers(rows, "run")
    names = source.strings(rows, "population")
    mean_ms = source.numbers(rows, "mean_s") * 1e3
    body: list[columns.Row] = []
    for point in points.points:
        good = [run.run for run in point.good_runs]
        for name in dict.fromkeys(names.tolist()):
            values = mean_ms[np.isin(runs, good) & (names == name)]
            head = [*_values(points, point), name, wording.runs(len(values))]
            body.append([*head, _mean(values)])
    header = [*_headings(points), "population", "runs", "mean estimate (ms)"]
    caption = "TCP's smoothed round-trip time, sampled at each send: means of a run, then of runs."
    words = _words(points) | {len(points.axes)}
    return columns.table(header, body, caption, frozenset(words), folded=len(body) > 12)


def links(rows: pa.Table, points: Points) -> Table:
    """The busiest links, a row for each point and link."""
    names = source.strings(rows, "link")
    shown_of = [
        _Shown(source.numbers(rows, "utilisation") * 100, "utilisation (%)", most=100.0),
        _Shown(source.numbers(rows, "mean_queue_delay_s") * 1e3, "queueing delay (ms)"),
        _Shown(source.numbers(rows, "max_queue_packets"), "longest queue (packets)"),
        _Shown(source.numbers(rows, "dropped"), "packets dropped"),
        _Shown(source.numbers(rows, "lost"), "packets lost"),
    ]
    busiest, kept = _first(names, shown_of[0].values, "busiest")
    caption = f"Links with a rate; means over runs with 95 % intervals.{kept}"
    return _named(rows, points, "link", (names, busiest), shown_of, caption)


def origins(rows: pa.Table, points: Points) -> Table:
    """The memory of content servers, a row for each point and server."""
    names = source.strings(rows, "origin")
    blocks, hits = source.numbers(rows, "blocks"), source.numbers(rows, "hits")
    shown_of = [
        _Shown(source.numbers(rows, "downloads"), "downloads"),
        _Shown(source.numbers(rows, "sent_bytes") / 1e6, "sent (MB)"),
        _Shown(source.numbers(rows, "read_bytes") / 1e6, "read (MB)"),
        _Shown(hits, "hits (blocks)"),
        _Shown(blocks - hits, "misses (blocks)"),
        _Shown(source.numbers(rows, "evictions"), "extents evicted"),
        _Shown(source.numbers(rows, "residence_s"), "mean residence (s)"),
    ]
    caption = (
        "Content servers. Hits: blocks that were in memory when their client could take one; it "
        "waited for the others. Residence: how long an extent had been in memory when it gave it "
        "to another one. Means over runs with 95 % intervals."
    )
    return _named(
        rows, points, "server", (names, list(dict.fromkeys(names.tolist()))), shown_of, caption
    )


def origin_files(rows: pa.Table, points: Points) -> Table:
    """The requested, sent and read bytes of each file, a row for each point and file."""
    servers = source.strings(rows, "origin")
    apart = len(set(servers)) > 1
    numbers = source.integers(rows, "file")
    names = np.array(
        [f"{of} {it}" if apart else f"{it}" for of, it in zip(servers, numbers, strict=True)]
    )
    sent, read = source.numbers(rows, "sent_bytes"), source.numbers(rows, "read_bytes")
    ratio = np.divide(100 * read, sent, out=np.full(len(sent), np.nan), where=sent > 0)
    shown_of = [
        _Shown(source.numbers(rows, "downloads"), "downloads"),
        _Shown(sent / 1e6, "sent (MB)"),
        _Shown(read / 1e6, "read (MB)"),
        _Shown(ratio, "miss ratio (%)"),
    ]
    hottest, kept = _first(names, sent, "most sent")
    caption = (
        "Files, the most popular is number 0. Miss ratio: bytes read for each byte sent. "
        f"Means over runs with 95 % intervals.{kept}"
    )
    return _named(rows, points, "file", (names, hottest), shown_of, caption)


def _first(names: np.ndarray, by: np.ndarray, called: str) -> tuple[list[str], str]:
    """The names with the largest means, as many as a table has room for; a note if some lack."""
    by, distinct = np.nan_to_num(by), list(dict.fromkeys(names.tolist()))
    first = sorted(distinct, key=lambda name: -float(by[names == name].mean()))[:_MOST_NAMES]
    lack = len(distinct) > len(first)
    return first, f" The {len(first)} {called} of {len(distinct)}." if lack else ""


@dataclass(frozen=True)
class _Shown:
    """A column of a table: its values, a row a row of the table, and what they are.

    Attributes:
        values: the values.
        title: what they are, with their unit.
        most: what none can be above; none is below zero.
    """

    values: np.ndarray
    title: str
    most: float = math.inf


def _named(
    rows: pa.Table,
    points: Points,
    what: str,
    named: tuple[np.ndarray, Sequence[str]],
    shown_of: Sequence[_Shown],
    caption: str,
) -> Table:
    """Means over runs, a row for each point and each name; folded. Nulls are left out."""
    runs, (names, shown_names) = source.integers(rows, "run"), named
    body: list[columns.Row] = []
    for point in points.points:
        good = [run.run for run in point.good_runs]
        for name in shown_names:
            chosen = np.isin(runs, good) & (names == name)
            head = [*_values(points, point), name, wording.runs(int(chosen.sum()))]
            means = (_mean(of.values[chosen & ~np.isnan(of.values)], of.most) for of in shown_of)
            body.append([*head, *means])
    header = [*_headings(points), what, "runs", *(of.title for of in shown_of)]
    words = _words(points) | {len(points.axes) or 1}
    return columns.table(header, body, caption, frozenset(words), folded=True)


def _mean(values: Sequence[float] | np.ndarray, most: float = math.inf) -> Estimate | None:
    return estimate(values).within(0.0, most) if len(values) else None


def _headings(points: Points) -> list[str]:
    return [axis.name for axis in points.axes] or ["point"]


def _values(points: Points, point: Point) -> list[str | Cell]:
    if not points.axes:
        return ["the only one"]
    return [axis.label(level) for axis, level in zip(points.axes, point.levels, strict=True)]


def _words(points: Points) -> frozenset[int]:
    return frozenset(range(max(1, len(points.axes))))


def settings(values: object, path: str = "") -> list[tuple[str, str]]:
    """A resolved study as dotted paths with values, in its own order."""
    if isinstance(values, dict):
        found = []
        for name, inner in values.items():
            found += settings(inner, f"{path}.{name}" if path else str(name))
        return found
    if isinstance(values, list | tuple) and any(isinstance(v, dict | list) for v in values):
        found = []
        for index, inner in enumerate(values):
            found += settings(inner, f"{path}[{index}]")
        return found
    if isinstance(values, list | tuple):
        return [(path, ", ".join(shown(v) for v in values))]
    text = shown(values)
    if path.endswith(".capacity") and len(text) > _LONGEST:
        # A mark that distinguishes two traces, and not all of their numbers.
        mark = hashlib.sha256(text.encode()).hexdigest()[:12]
        text = f"{text[:_LONGEST]} … ({len(text.split()) - 1} numbers, SHA-256 {mark})"
    return [(path, text)]


_LONGEST = 60
"""Characters of a trace in a list of settings."""
