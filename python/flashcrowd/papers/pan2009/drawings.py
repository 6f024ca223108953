"""Histograms and bars, as the paper's figures have them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from flashcrowd.drawing.blocks import Figure
from flashcrowd.drawing.canvas import canvas, key, per_cent
from flashcrowd.drawing.style import QUIET, looks
from flashcrowd.papers.plots import ends
from flashcrowd.report.statistics import Estimate


def histograms(
    panels: Sequence[tuple[str, Sequence[tuple[str, np.ndarray]]]], slug: str, caption: str
) -> Figure:
    """Histograms of round-trip times (ms) in bins of 10 ms, a panel for each (title, series)."""
    labels = list(dict.fromkeys(label for _, series in panels for label, _ in series))
    styles = dict(zip(labels, looks(len(labels)), strict=True))
    top = max(float(values.max()) for _, series in panels for _, values in series)
    bins = np.arange(0, top + 20, 10)
    with canvas(len(panels), height=2.7) as drawing:
        for axes, (title, series) in zip(drawing.panels, panels, strict=True):
            for label, values in series:
                look = styles[label]
                share = np.histogram(values, bins)[0] / len(values)
                axes.stairs(share, bins, color=look.color, fill=True, alpha=0.35, linewidth=0)
                axes.stairs(
                    share, bins, color=look.color, linestyle=look.dashes, linewidth=1.1, label=label
                )
            axes.set_title(title)
            axes.set_xlabel("RTT (ms)")
            per_cent(axes)
        drawing.panels[0].set_ylabel("share of the pings")
        key(drawing)
        svg = drawing.svg()
    return Figure(slug, svg, caption, caption.split(". ")[0])


def bars(
    names: Sequence[str],
    panels: Sequence[tuple[str, Sequence[tuple[str, Sequence[Estimate | None]]]]],
    slug: str,
    caption: str,
    *,
    x: str,
) -> Figure:
    """Groups of bars with intervals, in per cent, a panel for each (label of the ordinate, series).

    A series has a number for each of `names`.
    """
    labels = list(dict.fromkeys(label for _, series in panels for label, _ in series))
    styles = dict(zip(labels, looks(len(labels)), strict=True))
    with canvas(1, len(panels), height=2.5) as drawing:
        for axes, (y, series) in zip(drawing.panels, panels, strict=True):
            width = 0.84 / len(series)
            for number, (label, found) in enumerate(series):
                _bars(axes, found, (number - (len(series) - 1) / 2) * width, width, styles, label)
            axes.set_xticks(range(len(names)), list(names))
            axes.set_ylabel(y)
            axes.set_ylim(0, 104)
            axes.tick_params(labelbottom=True)
        drawing.panels[-1].set_xlabel(x)
        key(drawing)
        svg = drawing.svg()
    return Figure(slug, svg, caption, caption.split(". ")[0])


def _bars(
    axes: Axes, found: Sequence[Estimate | None], shift: float, width: float, styles, label: str
) -> None:
    look = styles[label]
    there = [(place, one) for place, one in enumerate(found) if one is not None]
    x = [place + shift for place, _ in there]
    means = [one.mean for _, one in there]
    low, high = ends([one for _, one in there])
    axes.bar(x, means, 0.92 * width, color=look.color, label=label, linewidth=0)
    axes.errorbar(
        x, means, [np.subtract(means, low), np.subtract(high, means)],
        fmt="none", ecolor=QUIET, elinewidth=0.8,
    )  # fmt: skip
