"""Which part of a drawing belongs to which line, so that a page can dim the others.

A group of the SVG has ``data-series``, and its entry in the legend ``data-key``, with one number.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.collections import Collection
from matplotlib.colors import to_hex
from matplotlib.legend import Legend
from matplotlib.lines import Line2D


def mark(panels: Sequence[Axes], labels: Sequence[str]) -> None:
    """Marks the lines with these labels, and what was drawn before each in its colour."""
    numbers = {label: number for number, label in enumerate(labels)}
    for panel in panels:
        waiting: list[Artist] = []
        for artist in panel.get_children():
            if not isinstance(artist, Line2D | Collection):
                continue
            number = numbers.get(str(artist.get_label()))
            if number is None:
                waiting.append(artist)
                continue
            color = _color(artist)
            for each in [artist, *(one for one in waiting if _color(one) == color)]:
                each.set_gid("-".join([*filter(None, [each.get_gid()]), f"series-{number}"]))
            waiting = []


def mark_key(legend: Legend) -> None:
    """Marks the entries of a legend, in the order of their labels."""
    for number, (handle, text) in enumerate(
        zip(legend.legend_handles, legend.get_texts(), strict=True)
    ):
        if handle is not None:
            handle.set_gid(f"key-{number}")
        text.set_gid(f"key-{number}")


def classed(svg: str) -> str:
    """The drawing with attributes in place of the ids by which marks were carried."""
    svg = re.sub(r'id="(tip-\d+)-series-(\d+)"', r'id="\1" data-series="\2"', svg)
    svg = re.sub(r'id="series-(\d+)"', r'data-series="\1"', svg)
    return re.sub(r'id="key-(\d+)"', r'data-key="\1"', svg)


def _color(artist: Artist) -> str:
    if isinstance(artist, Line2D):
        return to_hex(str(artist.get_color()))
    if isinstance(artist, Collection):
        for found in (artist.get_facecolor(), artist.get_edgecolor()):
            colors = np.atleast_2d(np.asarray(found, dtype=float))
            if colors.size:
                return to_hex(tuple(colors[0]))
    return ""
