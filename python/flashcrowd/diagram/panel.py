"""Parts of a drawing below its boxes, and the marks that they are made of."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass

INK, QUIET, FAINT, PAPER, SOFT = "#1a1a1a", "#595959", "#d9d9d9", "#ffffff", "#f5f6f7"
ACCENT, SECOND = "#0072b2", "#d55e00"

FONTS = "'DejaVu Sans', Verdana, 'Segoe UI', Helvetica, Arial, sans-serif"


@dataclass(frozen=True)
class Panel:
    """A part of a drawing.

    Attributes:
        parts: its SVG elements.
        bottom: ordinate at which it ends.
    """

    parts: list[str]
    bottom: float


def text(
    x: float,
    y: float,
    says: str,
    size: float = 11.0,
    *,
    bold: bool = False,
    quiet: bool = False,
    halo: bool = False,
) -> str:
    """A line of text that begins at `x` with its baseline at `y`."""
    weight = "bold " if bold else ""
    style = f"font: {weight}{size:g}px {FONTS}; fill: {QUIET if quiet else INK}"
    if halo:
        style += f"; paint-order: stroke; stroke: {PAPER}; stroke-width: 3px"
    return f'<text x="{x:.1f}" y="{y:.1f}" style="{style}">{html.escape(says)}</text>'


def circle(x: float, y: float, radius: float, color: str) -> str:
    """A dot."""
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}" style="fill: {color}"/>'


def number(x: float, y: float, count: int) -> str:
    """A number within a dot around a point."""
    style = f"font: bold 8px {FONTS}; fill: {PAPER}; text-anchor: middle"
    return f'<text x="{x:.1f}" y="{y + 3:.1f}" style="{style}">{count}</text>'


def line(points: Sequence[tuple[float, float]], color: str, thick: float) -> str:
    """A line through some points."""
    way = "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
    style = f"fill: none; stroke: {color}; stroke-width: {thick:.1f}; stroke-linejoin: round"
    return f'<path class="way" d="M{way}" style="{style}"/>'
