"""Distributions that an engine counted: times between sends, payload lengths, ping times."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from flashcrowd.drawing.blocks import Figure
from flashcrowd.report import source
from flashcrowd.report.charts.lines import Band, Frame, line_figure
from flashcrowd.report.charts.names import called
from flashcrowd.report.points import Point, Points

#: More steps than this in one line cannot be seen.
_STEPS = 80


def send_gaps(rows: pa.Table, points: Points, slug: str, where: str) -> Figure | None:
    """Cumulative distribution of the time between successive sends on one connection."""
    caption = (
        f"Time between successive sends to one peer, {where}. All runs of a point together, "
        f"{points.count()} per line."
    )
    frame = Frame(
        slug, "time between sends (ms)", "share of sends", caption, share=True, log=True, step=True
    )
    return counted(rows, "gap_ms", points, frame)


def payloads(rows: pa.Table, points: Points, slug: str, where: str) -> Figure | None:
    """Cumulative distribution of TCP payload lengths."""
    caption = (
        f"Payload of the TCP segments that carried any, {where}. All runs of a point together, "
        f"{points.count()} per line."
    )
    frame = Frame(
        slug, "payload (bytes)", "share of segments", caption, share=True, log=True, step=True
    )
    return counted(rows, "bytes", points, frame)


def counted(rows: pa.Table, column: str, points: Points, frame: Frame) -> Figure | None:
    """Cumulative distribution of a table of values with counts."""
    runs = source.integers(rows, "run")
    values = source.numbers(rows, column)
    counts = source.numbers(rows, "count")

    def band(point: Point) -> Band | None:
        chosen = np.isin(runs, [run.run for run in point.runs])
        return cumulative(values[chosen], counts[chosen], positive=frame.log)

    return line_figure(points, band, frame)


def cumulative(values: np.ndarray, counts: np.ndarray, *, positive: bool = False) -> Band | None:
    """Share of the counted values up to each value."""
    if not len(values) or counts.sum() <= 0:
        return None
    if positive:
        values = np.maximum(values, 0.5)
    levels, index = np.unique(values, return_inverse=True)
    weight = np.bincount(index, weights=counts)
    share = np.cumsum(weight) / weight.sum()
    if len(levels) > _STEPS:
        kept = np.unique(np.searchsorted(share, np.linspace(0, 1, _STEPS)).clip(0, len(share) - 1))
        levels, share = levels[kept], share[kept]
    return Band(levels, share)


def ping_times(results: source.Source, points: Points, *, along: str = "") -> list[Figure]:
    """Distribution of the answered pings, one figure for each ping.

    Lines of a panel are the levels of the axis called `along`; without, of the main one.
    """
    rows = source.table(results, "pings")
    if rows is None:
        return []
    runs, names = source.integers(rows, "run"), source.strings(rows, "ping")
    rtt_ms = source.numbers(rows, "rtt_s") * 1e3
    found = []
    for name in dict.fromkeys(names.tolist()):

        def band(point: Point, name: str = name) -> Band | None:
            chosen = (names == name) & np.isin(runs, [run.run for run in point.runs])
            answered = rtt_ms[chosen & ~np.isnan(rtt_ms)]
            if not len(answered):
                return None
            share = np.linspace(0, 1, 61)
            return Band(np.quantile(answered, share), share)

        caption = (
            f"Distribution of {called('ping', name)}. All runs of a point together, "
            f"{points.count()} per line; pings without an answer are left out."
        )
        frame = Frame(
            f"ping-{name}", "ping (ms)", "share of pings", caption, share=True,
            along=along,
        )  # fmt: skip
        figure = line_figure(points, band, frame)
        if figure:
            found.append(figure)
    return found
