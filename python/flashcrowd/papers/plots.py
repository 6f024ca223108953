"""Curves with intervals along an abscissa, a panel each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import NullLocator

from flashcrowd.drawing.blocks import Figure
from flashcrowd.drawing.canvas import canvas, key, logarithmic
from flashcrowd.drawing.figure_data import Series
from flashcrowd.drawing.style import QUIET, looks
from flashcrowd.report.statistics import Estimate


@dataclass(frozen=True)
class Curve:
    """Numbers with intervals along an abscissa.

    Attributes:
        label: what the legend calls it.
        x: abscissae.
        found: the numbers.
    """

    label: str
    x: Sequence[float]
    found: Sequence[Estimate]


@dataclass(frozen=True)
class Panel:
    """A panel with curves.

    Attributes:
        title: its heading.
        x: label of the abscissa.
        y: label of the ordinate.
        curves: what it shows.
        marks: ordinates that the paper gives, each with a word.
        log: axes with a logarithmic scale: any of `x` and `y`.
        at: abscissae worth a vertical line.
    """

    title: str
    x: str
    y: str
    curves: Sequence[Curve]
    marks: Sequence[tuple[float, str]] = ()
    log: str = ""
    at: Sequence[float] = ()


def against(
    panels: Sequence[Panel],
    slug: str,
    caption: str,
    *,
    rows: int = 1,
    marks: bool = True,
    runs: bool = False,
) -> Figure:
    """Curves with their intervals, a panel each.

    Args:
        panels: the panels.
        slug: name of the figure's file.
        caption: what it shows.
        rows: of panels.
        marks: whether every number has a mark.
        runs: shade from the smallest to the largest run, not the interval.
    """
    labels = list(dict.fromkeys(curve.label for panel in panels for curve in panel.curves))
    styles = dict(zip(labels, looks(len(labels)), strict=True))
    # Later curves lie above: their markers are smaller, so that those at the same place are seen.
    sizes = dict(zip(labels, np.linspace(6.0, 3.5, len(labels)), strict=True))
    columns = len(panels) // rows
    with canvas(columns, rows, height=2.7, sharex=False, sharey=False) as drawing:
        for axes, panel in zip(drawing.panels, panels, strict=True):
            for curve in panel.curves:
                look = styles[curve.label]
                low, high = _range(curve.found) if runs else ends(curve.found)
                drawing.note(
                    Series(
                        axes, curve.label, list(curve.x), [one.mean for one in curve.found],
                        low, high, [one.n for one in curve.found],
                    )
                )  # fmt: skip
                axes.fill_between(curve.x, low, high, color=look.color, alpha=0.2, linewidth=0)
                axes.plot(
                    curve.x, [one.mean for one in curve.found], color=look.color,
                    linestyle=look.dashes, marker=look.marker if marks else None,
                    markersize=sizes[curve.label],
                    label=curve.label,
                )  # fmt: skip
            axes.set_title(panel.title)
            axes.set_xlabel(panel.x)
            axes.set_ylabel(panel.y)
            if any(curve.found for curve in panel.curves):
                for value, word in panel.marks:
                    mark(axes, value, word)
                for place in panel.at:
                    axes.axvline(place, color=QUIET, linewidth=0.8, linestyle=(0, (5, 2)), zorder=0)
                _scales(axes, panel)
            else:
                _leave_empty(axes)
        key(drawing)
        svg = drawing.svg(logarithmic=not any("y" in panel.log for panel in panels))
    return Figure(slug, svg, caption, caption.split(". ")[0])


def _leave_empty(axes: Axes) -> None:
    """A panel of a setting that was not played, as real programs leave some out."""
    axes.set(xticks=[], yticks=[])
    axes.text(0.5, 0.5, "not played", transform=axes.transAxes, ha="center", color=QUIET)


def _scales(axes: Axes, panel: Panel) -> None:
    """Axes from zero, or logarithmic ones with numbers written out."""
    if "x" in panel.log:
        axes.set_xscale("log")
        places = sorted({x for curve in panel.curves for x in curve.x})
        axes.set_xticks(places, [f"{x:g}" for x in places])
        axes.xaxis.set_minor_locator(NullLocator())
    else:
        axes.set_xlim(left=0)
    found = [one for curve in panel.curves for one in curve.found]
    if "y" in panel.log and found:
        low, high = min(one.minimum for one in found), max(one.maximum for one in found)
        logarithmic(axes, low, high)
    else:
        axes.set_ylim(bottom=0)


def mark(axes: Axes, value: float, word: str) -> None:
    """A dashed line at an ordinate, with a word."""
    axes.axhline(value, color=QUIET, linewidth=0.9, linestyle=(0, (4, 2)), zorder=0)
    axes.annotate(
        word, (0.99, value), xycoords=("axes fraction", "data"), ha="right", va="bottom",
        fontsize=7, color=QUIET,
    )  # fmt: skip


def ends(found: Sequence[Estimate]) -> tuple[list[float], list[float]]:
    """Lower and upper ends of the intervals, which hold the mean.

    Of two runs the runs themselves, of one the number itself.
    """
    low = [one.mean if one.low is None else min(one.low, one.mean) for one in found]
    high = [one.mean if one.high is None else max(one.high, one.mean) for one in found]
    for place, one in enumerate(found):
        if one.n == 2:
            low[place], high[place] = one.minimum, one.maximum
    return low, high


def _range(found: Sequence[Estimate]) -> tuple[list[float], list[float]]:
    """The smallest and the largest run of each number."""
    return [one.minimum for one in found], [one.maximum for one in found]
