"""Upload controllers over time: limits, delays and rates, and what changed meanwhile."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from flashcrowd.drawing.blocks import Figure
from flashcrowd.report import source
from flashcrowd.report.charts.lines import Band, Frame, line_figure
from flashcrowd.report.charts.pings import averaged
from flashcrowd.report.instants import Instant
from flashcrowd.report.points import Point, Points


@dataclass(frozen=True)
class _Drawn:
    """A column, and how it is shown.

    Attributes:
        column: its name in the table `control`.
        factor: from its unit to that of the figure.
        axis: label of the ordinate, with unit.
        words: what it is, for the caption.
    """

    column: str
    factor: float
    axis: str
    words: str


_KB = 1.25e-4
"""From bit/s to kB/s, as clients say it."""

_DRAWN = (
    _Drawn("limit_bps", _KB, "upload limit (kB/s)", "Upload limit"),
    _Drawn("delay", 1e3, "added delay (ms)", "Round trip of its probes above the least one so far"),
    _Drawn("upload_bps", _KB, "upload (kB/s)", "Upload as the client says it"),
    _Drawn("download_bps", _KB, "download (kB/s)", "Download as the client says it"),
)


def over_time(
    results: source.Source, points: Points, instants: tuple[Instant, ...]
) -> list[Figure]:
    """A figure for each of limit, delay and rates, of each population that is controlled."""
    rows = source.table(results, "control")
    if rows is None:
        return []
    runs, t_s = source.integers(rows, "run"), source.numbers(rows, "t_s")
    whose = source.strings(rows, "population") + " of " + source.strings(rows, "swarm")
    delay = source.numbers(rows, "rtt_s") - source.numbers(rows, "base_rtt_s")
    marks = tuple((instant.t_s, instant.words) for instant in instants)
    found = []
    for number, name in enumerate(dict.fromkeys(whose.tolist())):
        for drawn in _DRAWN:
            values = delay if drawn.column == "delay" else source.numbers(rows, drawn.column)
            mine = (whose == name) & ~np.isnan(values)
            words = drawn.words
            if drawn.column == "limit_bps":
                # A limit far above any upload, as at a slow start, would hide the others.
                most = 1.5 * float(source.numbers(rows, "upload_bps")[whose == name].max())
                if most > 0 and (values[mine] > most).any():
                    values = np.minimum(values, most)
                    words += f" (those above {most * drawn.factor:.0f} kB/s are drawn there)"
            if not (values[mine] > 0).any():
                continue

            def band(
                point: Point, mine: np.ndarray = mine, shown: np.ndarray = values * drawn.factor
            ) -> Band | None:
                return averaged(point, runs[mine], t_s[mine], shown[mine])

            caption = (
                f"{words}, {name}, at each question of the controller. Lines are means over "
                f"peers and runs, bands the range of the runs; {points.count()} per line."
            )
            slug = f"control-{drawn.column.removesuffix('_bps')}" + (f"-{number}" if number else "")
            frame = Frame(slug, "time (s)", drawn.axis, caption, marks=marks)
            figure = line_figure(points, band, frame)
            if figure:
                found.append(figure)
    return found
