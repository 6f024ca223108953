"""Time series: what was sampled during the runs, and the pieces that leechers had."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from flashcrowd.drawing.blocks import Figure
from flashcrowd.report import source, wording
from flashcrowd.report.charts.lines import Band, Frame, line_figure
from flashcrowd.report.points import Point, Points

#: With more sources than this (the queues of a hundred hosts), their mean is drawn.
_MOST_SOURCES = 4

#: Instants of a line; finer series are averaged over the steps between.
_STEPS = 80

#: How each series is called, its unit, and a factor from the unit of the table.
NAMES: dict[str, tuple[str, str, float]] = {
    "queue-packets": ("packets in the queue", "", 1.0),
    "queue-delay": ("delay in the queue", "ms", 1e3),
    "link-rate": ("rate on the link", "Mbit/s", 1e-6),
    "goodput": ("goodput", "Mbit/s", 1e-6),
    "window": ("congestion window", "kB", 1e-3),
    "rtt": ("smoothed round-trip time", "ms", 1e3),
    "own-delay": ("queueing delay as the transport measures it", "ms", 1e3),
    "swarm-rate": ("download rate of the swarm", "Mbit/s", 1e-6),
    "online": ("peers online", "", 1.0),
    "completed": ("leechers done", "", 1.0),
    "upload-limit": ("upload limit", "kB/s", 1.25e-4),
    "origin-rate": ("rate to the clients' sockets", "MB/s", 1.25e-7),
    "disk-rate": ("rate from the disk", "MB/s", 1.25e-7),
    "disk-queue": ("reads at the disk", "", 1.0),
    "disk-waiting": ("clients that wait for the disk", "", 1.0),
    "origin-clients": ("clients being served", "", 1.0),
}


def series(results: source.Source, points: Points, *, along: str = "") -> list[Figure]:
    """A figure for each kind of series and each of its sources.

    Lines of a panel are the levels of the axis called `along`; without, of the main one.
    """
    rows = source.table(results, "series")
    if rows is None:
        return []
    kinds, sources = source.strings(rows, "what"), source.strings(rows, "source")
    runs, t_s, values = (
        source.integers(rows, "run"),
        source.numbers(rows, "t_s"),
        source.numbers(rows, "value"),
    )
    found = []
    for kind in dict.fromkeys(kinds.tolist()):
        chosen = kinds == kind
        names = list(dict.fromkeys(sources[chosen].tolist()))
        apart = names if len(names) <= _MOST_SOURCES else [None]
        name, unit, factor = NAMES.get(kind, (kind.replace("-", " "), "", 1.0))
        for origin in apart:
            rows_of = chosen if origin is None else chosen & (sources == origin)
            of = f"mean of {len(names)} sources" if origin is None else str(origin)
            whose = "" if of == "swarm" else f" ({of})"
            caption = (
                f"{wording.sentence(name)}{whose} over time. Lines are means over runs, bands the "
                f"range of the runs; {points.count()} per line."
            )
            slug = f"series-{kind}" if origin is None else f"series-{kind}-{_slug(origin)}"
            y = f"{name} ({unit})" if unit else name
            frame = Frame(slug, "time (s)", y, caption, along=along)
            figure = _over_time(
                points,
                runs[rows_of],
                t_s[rows_of],
                values[rows_of] * factor,
                frame,
                hold=kind == "completed",
            )
            if figure:
                found.append(figure)
    return found


def pieces(rows: pa.Table, points: Points, slug: str, where: str) -> Figure | None:
    """Mean number of pieces that the leechers have, over time."""
    caption = (
        f"Pieces that the leechers have, {where}: mean over the leechers. Lines are means over "
        f"runs, bands the range of the runs; {points.count()} per line."
    )
    frame = Frame(slug, "time (s)", "pieces at a leecher", caption)
    return _over_time(
        points,
        source.integers(rows, "run"),
        source.numbers(rows, "t_s"),
        source.numbers(rows, "mean"),
        frame,
        hold=True,
    )


def _over_time(
    points: Points,
    runs: np.ndarray,
    t_s: np.ndarray,
    values: np.ndarray,
    frame: Frame,
    *,
    hold: bool,
) -> Figure | None:
    def band(point: Point) -> Band | None:
        return mean_over_runs(point, runs, t_s, values, hold=hold)

    return line_figure(points, band, frame)


def mean_over_runs(
    point: Point, runs: np.ndarray, t_s: np.ndarray, values: np.ndarray, *, hold: bool
) -> Band | None:
    """Mean and range over the runs of `point`, on a common grid of time.

    A run that has ended keeps its last value if `hold`; otherwise the mean goes on over those
    that still run.
    """
    wanted = np.isin(runs, [run.run for run in point.runs]) & ~np.isnan(values)
    if not wanted.any():
        return None
    runs, t_s, values = runs[wanted], t_s[wanted], values[wanted]
    distinct = np.unique(t_s)
    grid = distinct
    if len(distinct) > _STEPS:
        grid = np.linspace(float(distinct[0]), float(distinct[-1]), _STEPS)
    lines = []
    for run in np.unique(runs):
        mine = runs == run
        times, index = np.unique(t_s[mine], return_inverse=True)
        means = np.bincount(index, weights=values[mine]) / np.bincount(index)
        lines.append(np.interp(grid, times, means, right=None if hold else np.nan))
    stack = np.vstack(lines)
    alive = ~np.isnan(stack).all(axis=0)
    grid, stack = grid[alive], stack[:, alive]
    return Band(grid, np.nanmean(stack, axis=0), np.nanmin(stack, axis=0), np.nanmax(stack, axis=0))


def _slug(text: str) -> str:
    return "".join(c if c.isalnum() else "-" for c in text).strip("-").lower()
