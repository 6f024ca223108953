"""The rates of links over time, where they follow traces."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from flashcrowd.diagram.curve import Curve, curve, is_trace
from flashcrowd.drawing.blocks import Figure
from flashcrowd.drawing.canvas import canvas, key
from flashcrowd.drawing.style import looks
from flashcrowd.report.source import section

SLUG = "capacity"
_BINS = 240
_MOST = 4
"""More lines than these hide each other."""


def figure(study: Mapping[str, object]) -> Figure | None:
    """The capacity of each traced direction of a resolved study over a round of its trace."""
    curves = list(dict.fromkeys(_curves(section(study.get("network")))))
    if not curves:
        return None
    shown = curves[:_MOST]
    with canvas(height=2.4) as drawing:
        panel = drawing.panels[0]
        for found, look in zip(shown, looks(len(shown), ordered=False), strict=True):
            edges = np.linspace(0, found.length_s, len(found.bps) + 1)
            panel.stairs(
                np.array(found.bps) / 1e6, edges, color=look.color, linestyle=look.dashes,
                label=f"{found.way}: {found.file}", linewidth=1.3,
            )  # fmt: skip
        panel.set_ylim(bottom=0)
        panel.set_xlim(0, max(found.length_s for found in shown))
        panel.set_xlabel("time since the trace began (s)")
        panel.set_ylabel("capacity (Mbit/s)")
        key(drawing, columns=2)
        svg = drawing.svg()
    means = "; ".join(f"{found.way} {found.words}" for found in shown)
    left_out = f" Not shown: {len(curves) - _MOST} more." if len(curves) > _MOST else ""
    again = "begins again at its end" if all(it.repeats for it in shown) else (
        "begins again at its end, or holds its last rate where the study says so"
    )  # fmt: skip
    caption = (
        "Capacity of the links by their traces, framing included: means of "
        f"{_BINS} parts of a round. {means}. A trace {again}.{left_out}"
    )
    return Figure(SLUG, svg, caption, "Capacity of the links over time")


def _curves(network: Mapping[str, object]) -> Iterator[Curve]:
    for name, group in section(network.get("groups")).items():
        access = section(section(group).get("access"))
        for way in ("up", "down"):
            yield from _curve(access.get(way), access, f"{name} {way}")
    for name, link in section(network.get("links")).items():
        link = section(link)
        yield from _curve(link.get("rate"), link, str(name))
        back = section(link.get("back"))
        yield from _curve(back.get("rate"), back, f"{name} back")


def _curve(rate: object, table: Mapping[str, object], way: str) -> Iterator[Curve]:
    if isinstance(rate, Mapping) and is_trace(rate):
        yield curve(rate, table.get("framing"), way, _BINS)
