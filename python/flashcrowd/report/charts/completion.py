"""When the crowd has the file: completion curves and the distribution of download times."""

from __future__ import annotations

import numpy as np

from flashcrowd.drawing.blocks import Figure
from flashcrowd.report import downloads
from flashcrowd.report.charts.lines import Band, Frame, line_figure
from flashcrowd.report.downloads import Leechers
from flashcrowd.report.points import Point, Points

_INSTANTS = 64


def completion_curves(
    who: Leechers, points: Points, slug: str, swarm: str, *, along: str = ""
) -> Figure | None:
    """Share of the leechers that have the file, over time: mean over runs with their range.

    Lines of a panel are the levels of the axis called `along`; without, of the main one.
    """

    def band(point: Point) -> Band | None:
        done = downloads.completions(who, point)
        if not len(done):
            return None
        margin = 0.02 * float(done[-1] - done[0]) or 0.01 * float(done[-1])
        t_s = np.linspace(max(0.0, done[0] - margin), done[-1] + margin, _INSTANTS)
        curve = downloads.completion_curve(who, point, t_s)
        return None if curve is None else Band(t_s, curve.mean, curve.low, curve.high)

    caption = (
        f"Share of the leechers of {swarm} that have the whole file. Lines are means over runs, "
        f"bands the range of the runs; {points.count()} per line. Each line begins before its "
        "first completion."
    )
    x = "time since the start of the run (s)"
    frame = Frame(slug, x, "leechers done", caption, share=True, along=along)
    return line_figure(points, band, frame)


def duration_distribution(
    who: Leechers, points: Points, slug: str, swarm: str, *, along: str = ""
) -> Figure | None:
    """Cumulative distribution of download times, all leechers of all runs of a point together.

    Lines of a panel are the levels of the axis called `along`; without, of the main one.
    """
    share = np.linspace(0, 1, 61)

    def band(point: Point) -> Band | None:
        pooled = downloads.pooled_durations(who, point)
        return Band(np.quantile(pooled, share), share) if len(pooled) else None

    caption = (
        f"Distribution of the download times of single leechers of {swarm}, from arrival to the "
        f"complete file. All runs of a point together, {points.count()} per line; leechers that "
        "did not finish are left out."
    )
    x = "download time of a leecher (s)"
    frame = Frame(slug, x, "share of leechers", caption, share=True, along=along)
    return line_figure(points, band, frame)
