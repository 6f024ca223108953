"""A diagram as SVG text."""

from __future__ import annotations

import html
import math
import re
from collections.abc import Iterator, Mapping

from flashcrowd.base.units import Rate, UnitError
from flashcrowd.diagram import arrivals, layout, topology
from flashcrowd.diagram.layout import Label, Layout, Placed, PlacedCurve
from flashcrowd.diagram.network import Diagram, read
from flashcrowd.diagram.panel import FONTS, INK, PAPER, QUIET, SOFT, Panel

#: Colours of workloads and links: those of Okabe and Ito, as in the figures of reports.
COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000")


def draw(study: Mapping[str, object], *, narrow: bool = False) -> str:
    """The network of a resolved study as SVG text.

    Args:
        study: the resolved study, as ``study.json`` has it.
        narrow: laid out for phones.
    """
    diagram = read(study)
    found = layout.narrow(diagram) if narrow else layout.wide(diagram)
    panels = list(_panels(study, found))
    height = panels[-1].bottom if panels else found.height
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{found.width:.0f}" '
        f'height="{height:.0f}" viewBox="0 0 {found.width:.1f} {height:.1f}" '
        f'role="img">',
        f"<title>{html.escape(describe(study))}</title>",
        f'<path d="M0 0h{found.width:.1f}v{height:.1f}h-{found.width:.1f}z" '
        f'style="fill: {PAPER}"/>',
        *_lines(diagram, found),
        *(part for placed in found.between for part in _box(placed)),
        *(part for placed in found.groups for part in _box(placed)),
        *_time(diagram, found),
        *(_label(note) for note in found.notes),
        *(part for panel in panels for part in panel.parts),
        "</svg>\n",
    ]
    return "\n".join(parts)


def describe(study: Mapping[str, object]) -> str:
    """The drawing of a resolved study in words, for readers who cannot see it."""
    return _words(read(study)) + topology.words(study)


def _panels(study: Mapping[str, object], found: Layout) -> Iterator[Panel]:
    """The panels below the boxes: the map, and arrivals over time."""
    top = found.height + 14
    shown = topology.panel(study, found.width, top)
    if shown is not None:
        yield shown
        top = shown.bottom
    yield from arrivals.panels(study, found.width, top)


def _words(diagram: Diagram) -> str:
    groups = ", ".join(box.title.replace(" · ", " with ") for box in diagram.groups)
    links = [box.name for box in diagram.between if box.kind == "link"]
    shared = f"; shared links {', '.join(links)}" if links else ""
    tasks = f"; workloads {', '.join(diagram.workloads)}" if diagram.workloads else ""
    return f"The network: {groups}{shared}{tasks}."


def _box(placed: Placed) -> Iterator[str]:
    group = placed.box.kind == "group"
    corner = 4 if group else 12
    dashes = "; stroke-dasharray: 4 3" if placed.box.kind in ("path", "rest") else ""
    yield (
        f'<g class="{placed.box.kind}" data-name="{html.escape(placed.box.name)}">'
        f'<rect x="{placed.x:.1f}" y="{placed.y:.1f}" width="{placed.width:.1f}" '
        f'height="{placed.height:.1f}" rx="{corner}" '
        f'style="fill: {SOFT if group else PAPER}; stroke: {QUIET}; stroke-width: 1{dashes}"/>'
    )
    yield from map(_label, placed.labels)
    for curve in placed.curves:
        yield from _curve(curve)
    yield "</g>"


def _curve(placed: PlacedCurve) -> Iterator[str]:
    """Steps over the time of a round, above a line at zero."""
    curve, x, foot = placed.curve, placed.x, placed.y
    most = max(curve.bps) or 1.0
    wide = placed.width / len(curve.bps)
    steps = "".join(f"V{foot - placed.height * bps / most:.1f}h{wide:.2f}" for bps in curve.bps)
    yield (
        f'<path class="capacity" d="M{x:.1f} {foot:.1f}{steps}V{foot:.1f}z" '
        f'style="fill: {COLORS[4]}; fill-opacity: 0.45; stroke: none">'
        f"<title>{html.escape(f'{curve.file}: {curve.label}')}</title></path>"
    )
    line = f"fill: none; stroke: {QUIET}; stroke-width: 0.8"
    yield f'<path d="M{x:.1f} {foot:.1f}h{placed.width:.1f}" style="{line}"/>'


def _label(label: Label) -> str:
    mark = ""
    if label.workload >= 0:
        mark = _mark(label.workload, label.x - 8, label.y - 4)
    weight = "bold " if label.bold else ""
    style = f"font: {weight}{label.size:g}px {FONTS}; fill: {INK}"
    text = html.escape(label.text)
    return f'{mark}<text x="{label.x:.1f}" y="{label.y:.1f}" style="{style}">{text}</text>'


def _mark(number: int, x: float, y: float) -> str:
    """The sign of a workload: another colour, and another form where colours come again."""
    color = COLORS[number % len(COLORS)]
    form = number % 3
    path = (
        f"M{x - 3.5:.1f} {y:.1f}a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0 -7 0z",
        f"M{x - 3.2:.1f} {y - 3.2:.1f}h6.4v6.4h-6.4z",
        f"M{x:.1f} {y - 4:.1f}l4 7h-8z",
    )[form]
    return f'<path d="{path}" style="fill: {color}"/>'


def _lines(diagram: Diagram, found: Layout) -> Iterator[str]:
    several = len(diagram.between) > 1
    for group, place in diagram.edges:
        here, there = found.groups[group], found.between[place]
        box = diagram.between[place]
        color = COLORS[place % len(COLORS)] if several and box.kind != "rest" else QUIET
        dashes = "; stroke-dasharray: 5 4" if box.kind == "rest" and several else ""
        thick = _thickness(here.box.lines)
        style = f"fill: none; stroke: {color}; stroke-width: {thick:.1f}{dashes}"
        yield f'<path class="line" d="{_way(found, place, here, there)}" style="{style}"/>'
    for one, other in diagram.chained:
        here, there = found.between[one], found.between[other]
        x = found.lanes[one] if found.lanes else here.x + here.width / 2
        if found.lanes:
            path = f"M{here.x:.1f} {_middle(here):.1f}H{x:.1f}V{_middle(there):.1f}H{there.x:.1f}"
        else:
            upper, lower = sorted((here, there), key=lambda placed: placed.y)
            path = f"M{x:.1f} {upper.y + upper.height:.1f}V{lower.y:.1f}"
        style = f"fill: none; stroke: {QUIET}; stroke-width: 2"
        yield f'<path class="line" d="{path}" style="{style}"/>'


def _way(found: Layout, place: int, here: Placed, there: Placed) -> str:
    """A curve between the two boxes, or along the lane of what lies between."""
    if found.lanes:
        x = found.lanes[place]
        shift = 7.0 * (place - (len(found.lanes) - 1) / 2)
        y = _middle(here) + max(-here.height / 2 + 4, min(here.height / 2 - 4, shift))
        return f"M{there.x:.1f} {_middle(there):.1f}H{x:.1f}V{y:.1f}H{here.x:.1f}"
    left = here.x < there.x
    x0 = here.x + here.width if left else here.x
    x1 = there.x if left else there.x + there.width
    bend = (x0 + x1) / 2
    y0, y1 = _middle(here), _middle(there)
    return f"M{x0:.1f} {y0:.1f}C{bend:.1f} {y0:.1f} {bend:.1f} {y1:.1f} {x1:.1f} {y1:.1f}"


def _middle(placed: Placed) -> float:
    return placed.y + placed.height / 2


def _thickness(lines: list[str]) -> float:
    """Thicker for a faster line, by powers of ten of the rate up."""
    rates = [re.match(r"↑ ([\d.]+ [kMG]?bit/s|[\d.]+ \w+/s)", line) for line in lines]
    texts = [found[1] for found in rates if found]
    if not texts:
        return 3.0
    try:
        bits = Rate(texts[0]).bps
    except UnitError:
        return 2.0
    return min(4.0, max(1.0, 1.0 + 0.6 * (math.log10(max(bits, 1)) - 5)))


def _time(diagram: Diagram, found: Layout) -> Iterator[str]:
    """The axis of time, with a number at each instant at which something changes."""
    if found.axis is None:
        return
    left, right, y = 12.0, found.width - 40, found.axis
    last = diagram.changes[-1][0] or 1.0
    grey = f"fill: none; stroke: {QUIET}; stroke-width: 1.2"
    yield f'<path d="M{left:.1f} {y:.1f}H{right + 30:.1f}m-6 -4l6 4l-6 4" style="{grey}"/>'
    placed: list[float] = []
    for number, (at, _) in enumerate(diagram.changes, 1):
        x = left + (right - left) * at / last
        yield f'<path d="M{x:.1f} {y - 5:.1f}v10" style="{grey}"/>'
        text = x if not placed else max(x, placed[-1] + 8 + 7 * len(str(number)))
        placed.append(text)
        yield (
            f'<text class="instant" x="{text:.1f}" y="{y - 8:.1f}" style="font: 10px {FONTS}; '
            f'fill: {INK}; text-anchor: middle">{number}</text>'
        )
