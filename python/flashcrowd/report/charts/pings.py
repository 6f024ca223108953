"""Pings over time: what a bystander felt, and what the timeline changed meanwhile."""

from __future__ import annotations

import numpy as np

from flashcrowd.drawing.blocks import Figure
from flashcrowd.report import source, wording
from flashcrowd.report.charts.lines import Band, Frame, line_figure
from flashcrowd.report.charts.names import called
from flashcrowd.report.instants import Instant
from flashcrowd.report.points import Point, Points

#: Stretches of time over which the requests of a run are averaged.
_STEPS = 120


def over_time(
    results: source.Source, points: Points, instants: tuple[Instant, ...]
) -> list[Figure]:
    """A figure for each ping: the mean time of the answers, by when the request was sent."""
    rows = source.table(results, "pings")
    if rows is None:
        return []
    runs, names = source.integers(rows, "run"), source.strings(rows, "ping")
    sent, rtt_ms = source.numbers(rows, "sent_s"), source.numbers(rows, "rtt_s") * 1e3
    found = []
    for name in dict.fromkeys(names.tolist()):
        mine = (names == name) & ~np.isnan(rtt_ms)
        if not mine.any():
            continue

        def band(point: Point, mine: np.ndarray = mine) -> Band | None:
            return averaged(point, runs[mine], sent[mine], rtt_ms[mine])

        caption = (
            f"{wording.sentence(called('ping', name))} over time, by when each was sent. Lines are "
            f"means over runs, bands the range of the runs; {points.count()} per line."
        )
        marks = tuple((instant.t_s, instant.words) for instant in instants)
        frame = Frame(f"ping-{name}-over-time", "time (s)", "ping (ms)", caption, marks=marks)
        figure = line_figure(points, band, frame)
        if figure:
            found.append(figure)
    return found


def averaged(point: Point, runs: np.ndarray, t_s: np.ndarray, values: np.ndarray) -> Band | None:
    """Mean and range over the runs of `point` in equal stretches of time."""
    chosen = np.isin(runs, [run.run for run in point.runs])
    if not chosen.any():
        return None
    runs, t_s, values = runs[chosen], t_s[chosen], values[chosen]
    per_run = max(np.bincount(np.unique(runs, return_inverse=True)[1]))
    edges = np.linspace(t_s.min(), t_s.max(), min(_STEPS, int(per_run)) + 1)
    step = np.clip(np.searchsorted(edges, t_s, side="right") - 1, 0, len(edges) - 2)
    lines = []
    for _, rows in source.by_run(runs):
        count = np.bincount(step[rows], minlength=len(edges) - 1)
        total = np.bincount(step[rows], weights=values[rows], minlength=len(edges) - 1)
        lines.append(np.where(count > 0, total / np.maximum(count, 1), np.nan))
    stack = np.vstack(lines)
    some = ~np.isnan(stack).all(axis=0)
    middle, stack = ((edges[:-1] + edges[1:]) / 2)[some], stack[:, some]
    return Band(
        middle, np.nanmean(stack, axis=0), np.nanmin(stack, axis=0), np.nanmax(stack, axis=0)
    )
