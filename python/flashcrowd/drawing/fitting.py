"""Fitting a drawing into a width: labels in lines, names turned, panels below each other."""

from __future__ import annotations

import math
import textwrap

from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing
from matplotlib.gridspec import GridSpec
from matplotlib.ticker import FixedLocator, ScalarFormatter

#: Width of a letter on an axis, about, in inches.
_LETTER = 0.075

#: Names that would overlap are turned by this many degrees; a panel has this many inches for them.
_TURNED, _NAMES = 35, 1.2

#: Letters of a line of such a name at most.
_LONGEST = 36

#: Width for phones: at 374 px, the column of a screen of 400 px, 8 pt are 11 px.
NARROW = 3.75

#: A panel for phones is at most so high, in inches.
NARROW_HEIGHT = 2.7

#: Corners of a line that deviate by less than this, in pixels of 1/72 inch, are left out there.
_NARROW_SIMPLIFY = 0.8


def _place(panel: Axes) -> tuple[int, int]:
    """Row and column of a panel."""
    spec = panel.get_subplotspec()
    return (spec.rowspan.start, spec.colspan.start) if spec else (0, 0)


def row(panel: Axes) -> int:
    """The row of a panel."""
    return _place(panel)[0]


def columns(drawing: Drawing) -> int:
    """How many panels are side by side."""
    specs = [panel.get_subplotspec() for panel in drawing.axes]
    return max((spec.get_gridspec().ncols for spec in specs if spec), default=1)


def stack(drawing: Drawing) -> None:
    """Lays the panels out for a phone: below each other, each with its own labels."""
    panels = [panel for panel in drawing.axes if panel.get_visible()]
    places = sorted({_place(panel) for panel in panels})
    firsts: dict[tuple[int, str], str] = {}
    for panel in panels:
        if panel.get_ylabel():
            side = panel.yaxis.get_label_position()
            firsts.setdefault((_place(panel)[0], side), panel.get_ylabel())
    rows = max((row for row, _ in places), default=0) + 1
    height = min(float(drawing.get_figheight()) / rows, NARROW_HEIGHT)
    drawing.set_size_inches(NARROW, height * len(places))
    grid = GridSpec(len(places), 1, figure=drawing)
    for panel in panels:
        place = _place(panel)
        side = panel.yaxis.get_label_position()
        if not panel.get_ylabel():
            panel.set_ylabel(firsts.get((place[0], side), ""))
        panel.set_subplotspec(grid[places.index(place)])
        left = side == "left"
        panel.tick_params(labelbottom=left, labelleft=left, labelright=not left)
        for line in panel.lines:
            line.recache(always=True)
            line.get_path().simplify_threshold = _NARROW_SIMPLIFY
    for panel in drawing.axes:
        if panel not in panels:
            panel.set_subplotspec(grid[-1])


def name(text: str) -> str:
    """A name on an abscissa, in lines where it is long."""
    return textwrap.fill(text, _LONGEST)


def turn(panel: Axes, width: float) -> float:
    """Turns the names on an abscissa of categories that would run into each other.

    Returns:
        How much higher the panel has to be for names that are long, in inches.
    """
    names = [label.get_text() for label in panel.get_xticklabels()]
    lines = [line for name in names for line in name.split("\n")]
    fixed = isinstance(panel.xaxis.get_major_locator(), FixedLocator)
    crowded, longest = False, max(map(len, lines), default=0) * _LETTER
    if fixed and names and not isinstance(panel.xaxis.get_major_formatter(), ScalarFormatter):
        room = 0.8 * width / len(names)
        crowded = longest > room
        panel.tick_params("x", labelrotation=_TURNED if crowded else 0)
        for label in panel.get_xticklabels():
            label.set(ha="right" if crowded else "center", rotation_mode="anchor")
    return max(0.0, longest * math.sin(math.radians(_TURNED)) - _NAMES) if crowded else 0.0


def wrap(panel: Axes, width: float) -> None:
    """Breaks the title and the labels of a panel of this width (inches) into lines that fit."""
    figure = panel.get_figure()
    spec = panel.get_subplotspec()
    rows = spec.get_gridspec().nrows if spec else 1
    height = float(figure.get_figheight()) / rows if figure else width  # pyright: ignore
    across = max(16, int(11 * width) - 3)
    panel.set_title(_lines(panel.get_title(loc="left"), across))
    panel.set_xlabel(_lines(panel.get_xlabel(), across * 6 // 5))
    panel.set_ylabel(_lines(panel.get_ylabel(), max(16, int(13 * (height - 1.0)))))


def _lines(text: str, longest: int) -> str:
    return "\n".join(textwrap.wrap(text.replace("\n", " "), longest, break_long_words=False))
