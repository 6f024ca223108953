"""Logged connections: windows and round-trip times over time, with losses and their repair."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from matplotlib.axes import Axes

from flashcrowd.drawing.blocks import Figure
from flashcrowd.drawing.canvas import canvas
from flashcrowd.drawing.style import DASHES, FAINT, INK, PALETTE, QUIET
from flashcrowd.report import axis_words, source
from flashcrowd.report.points import Point, Points

#: Connections that are drawn: one for each point, or the busiest of a single one.
_MOST = 4

#: A line of more rows is thinned to the minimum and maximum of this number of intervals.
_STRETCHES = 400

#: Labels of lines are at least this far apart, as a share of the panel's height.
_APART = 0.085

_REPAIRING = ("recovery", "cwr", "loss")


@dataclass(frozen=True)
class Log:
    """One end of one connection: its row of `connections`, and its events."""

    row: dict[str, object]
    point: Point
    events: pa.Table
    kinds: np.ndarray

    def of(self, event: str) -> pa.Table:
        """The events of a kind."""
        return self.events.filter(pa.array(self.kinds == event, type=pa.bool_()))

    @property
    def payload(self) -> int:
        """Bytes that it sent, as far as its packets or its metrics tell."""
        sent = np.nansum(source.numbers(self.of("packet_sent"), "payload_bytes"))
        acked = source.numbers(self.of("metrics_updated"), "bytes_acked")
        return int(sent or (acked.max() if len(acked) else 0))


@dataclass(frozen=True)
class _End:
    """Where a line ends, what it is called there, and how it looks."""

    t_s: float
    value: float
    name: str
    color: str
    dashes: tuple[float, tuple[float, ...]]
    width: float


def over_time(results: source.Source, points: Points) -> list[Figure]:
    """A figure for the busiest connection of each point, or for those of the only point."""
    ends, events = source.table(results, "connections"), source.table(results, "connection_events")
    if ends is None or events is None:
        return []
    each = _MOST if len(points.points) == 1 else 1
    found = []
    for point in points.points[:_MOST]:
        logs = list(_logs(ends, events, point))
        for log in sorted(logs, key=lambda log: -log.payload)[:each]:
            where = axis_words.point(points, point)
            figure = _figure(log, where, len(logs), len(found) + 1)
            if figure:
                found.append(figure)
    return found


def _logs(ends: pa.Table, events: pa.Table, point: Point) -> Iterator[Log]:
    """The logs of the first run of a point."""
    run = point.runs[0].run
    mine = source.of(events, "run", run)
    for row in source.of(ends, "run", run).to_pylist():
        log = source.of(mine, "connection", row["connection"])
        yield Log(row, point, log, source.strings(log, "event"))


def _figure(log: Log, where: str, logs: int, number: int) -> Figure | None:
    metrics = log.of("metrics_updated")
    if metrics.num_rows < 2:
        return None
    with canvas(1, 2, height=2.3, sharey=False) as drawing:
        window, delay = drawing.panels
        _windows(window, metrics)
        _delays(delay, log, metrics)
        for panel in drawing.panels:
            _episodes(panel, log)
        _losses(window, log)
        window.set_ylabel("bytes (kB)")
        delay.set_ylabel("time (ms)")
        delay.set_xlabel("time (s)")
        svg = drawing.svg()
    caption = _caption(log, where, logs)
    return Figure(f"connection-{number}", svg, caption, caption.split(". ")[0])


def _windows(panel: Axes, metrics: pa.Table) -> None:
    lines = [
        ("bytes_in_flight", "in flight", PALETTE[1], 0, 0.9),
        ("ssthresh", "ssthresh", QUIET, 2, 1.1),
        ("congestion_window", "window", PALETTE[0], 0, 1.6),
    ]
    ends = [_line(panel, metrics, *line, factor=1e-3) for line in lines]
    panel.set_ylim(bottom=0)
    _label(panel, [end for end in ends if end])


def _delays(panel: Axes, log: Log, metrics: pa.Table) -> None:
    lines = [
        ("latest_rtt_s", "latest RTT", PALETTE[4], 0, 0.9),
        ("min_rtt_s", "least RTT", QUIET, 2, 1.1),
        ("smoothed_rtt_s", "smoothed RTT", PALETTE[2], 0, 1.6),
        ("queueing_delay_s", "queueing delay", PALETTE[3], 1, 1.3),
    ]
    ends = [_line(panel, metrics, *line, factor=1e3) for line in lines]
    target = log.row["target_delay_s"]
    if isinstance(target, float):
        panel.axhline(1e3 * target, color=INK, linewidth=0.9, linestyle=DASHES[2])
        last = max((end.t_s for end in ends if end), default=0.0)
        ends.append(_End(last, 1e3 * target, "target", INK, DASHES[2], 0.9))
    panel.set_ylim(bottom=0)
    _label(panel, [end for end in ends if end])


def _line(
    panel: Axes, metrics: pa.Table, column: str, name: str, color: str, dashes: int, width: float,
    *, factor: float,
) -> _End | None:  # fmt: skip
    """Draws a column; where its line ends, and what it is called there."""
    t_s, values = source.numbers(metrics, "t_s"), source.numbers(metrics, column) * factor
    known = ~np.isnan(values)
    if not known.any():
        return None
    t_s, values = _thinned(t_s[known], values[known])
    panel.plot(
        t_s, values, color=color, linewidth=width, linestyle=DASHES[dashes],
        drawstyle="steps-post",
    )  # fmt: skip
    return _End(float(t_s[-1]), float(values[-1]), name, color, DASHES[dashes], width)


def _thinned(t_s: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The least and the greatest value of each stretch, in their order, and the last one."""
    if len(values) <= 2 * _STRETCHES:
        return t_s, values
    edges = np.searchsorted(t_s, np.linspace(t_s[0], t_s[-1], _STRETCHES + 1)[:-1])
    kept = {len(values) - 1}
    for begin, end in zip(edges, [*edges[1:], len(values)], strict=True):
        if begin < end:
            part = values[begin:end]
            kept |= {int(begin + part.argmin()), int(begin + part.argmax())}
    chosen = np.array(sorted(kept))
    return t_s[chosen], values[chosen]


def _label(panel: Axes, ends: Sequence[_End]) -> None:
    """Names at the ends of the lines, moved apart where they would cover each other.

    Each is in ink behind a piece of its line: some of the lines' colours are too light to read.
    """
    low, high = panel.get_ylim()
    last = max((end.t_s for end in ends), default=0.0)
    ordered = sorted(ends, key=lambda end: end.value)
    places = [(end.value - low) / (high - low) for end in ordered]
    for number in range(1, len(places)):
        places[number] = max(places[number], places[number - 1] + _APART)
    above = 0.96 + _APART
    for number in reversed(range(len(places))):
        above = places[number] = min(places[number], above - _APART)
    for end, place in zip(ordered, places, strict=True):
        piece = {
            "arrowstyle": "-", "color": end.color, "linestyle": end.dashes,
            "linewidth": end.width, "shrinkA": 2, "shrinkB": 3, "relpos": (0, 0.5),
        }  # fmt: skip
        panel.annotate(
            end.name, (last, place), xycoords=("data", "axes fraction"), xytext=(21, 0),
            textcoords="offset points", va="center", fontsize=8.5, color=INK,
            annotation_clip=False, arrowprops=piece,
        )  # fmt: skip
    panel.set_xlim(right=last)


def _episodes(panel: Axes, log: Log) -> None:
    """Shades the time in which losses were repaired, and marks timeouts."""
    end = float(source.numbers(log.events, "t_s")[-1])
    for begin, until in _repairs(log, end):
        panel.axvspan(begin, until, color=FAINT, linewidth=0, zorder=0.5)
    for instant in _timeouts(log):
        panel.axvline(instant, color=INK, linewidth=1.0, linestyle=DASHES[2], zorder=1)


def _repairs(log: Log, end: float) -> Iterator[tuple[float, float]]:
    rows = log.of("congestion_state_updated")
    begin = None
    for t_s, state in zip(source.numbers(rows, "t_s"), rows["new"].to_pylist(), strict=True):
        if state in _REPAIRING:
            begin = float(t_s) if begin is None else begin
        elif begin is not None:
            yield begin, float(t_s)
            begin = None
    if begin is not None:
        yield begin, end


def _timeouts(log: Log) -> list[float]:
    rows = log.of("loss_timer_updated")
    happened = zip(
        source.numbers(rows, "t_s"), rows["trigger"].to_pylist(), rows["timer"].to_pylist(),
        strict=True,
    )  # fmt: skip
    return [
        float(t_s)
        for t_s, trigger, timer in happened
        if trigger == "expired" and timer in ("rto", "handshake")
    ]


def _losses(panel: Axes, log: Log) -> None:
    """A cross for each stretch of time with losses, at the foot of the panel."""
    t_s = source.numbers(log.of("packet_lost"), "t_s")
    if not len(t_s):
        return
    step = (source.numbers(log.events, "t_s")[-1] or 1.0) / _STRETCHES
    _, first = np.unique(np.floor(t_s / step), return_index=True)
    panel.plot(
        t_s[first], np.full(len(first), 0.035), transform=panel.get_xaxis_transform(),
        color=INK, marker="x", markersize=4.5, linestyle="none", clip_on=False,
    )  # fmt: skip


def _caption(log: Log, where: str, logs: int) -> str:
    row, run = log.row, log.point.runs[0]
    whose = f"{row['workload']}, {row['host']} to {row['remote']}"
    lost, repairs = log.of("packet_lost").num_rows, len(list(_repairs(log, np.inf)))
    shown = [f"crosses are packets lost ({lost})"] if lost else []
    shown += (
        [f"shaded times are those in which losses were repaired ({repairs})"] if repairs else []
    )
    timeouts = len(_timeouts(log))
    shown += [f"dotted lines are timeouts ({timeouts})"] if timeouts else []
    marks = "; ".join(shown)
    at = f" with {where}" if where else ""
    others = f" It sent most of the {logs} that were logged." if logs > 1 else ""
    return (
        f"Congestion window, bytes in flight and round-trip times of one connection ({whose}; "
        f"{row['stack']}, {row['controller']}) over time. A sample: run {run.run}{at}.{others}"
        + (f" {marks[0].upper()}{marks[1:]}." if marks else "")
    )
