"""How figures look: colours that colour-blind readers can tell apart, and never colour alone.

The palette is that of Okabe and Ito without its yellow, which does not show on white. Every
series also has a marker and a line style of its own, so that a figure survives a black-and-white
printer. Figures are drawn in the colours for light paper; a page replaces each colour by a CSS
variable that has another value (:func:`dark`) where the reader prefers a dark scheme.
"""

from __future__ import annotations

import colorsys
from dataclasses import dataclass
from functools import cache

import numpy as np
from matplotlib import colormaps
from matplotlib.colors import to_hex

PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "h")
DASHES: tuple[tuple[float, tuple[float, ...]], ...] = (
    (0, ()),
    (0, (5, 1.6)),
    (0, (1.4, 1.4)),
    (0, (6, 1.6, 1.4, 1.6)),
    (0, (3, 1.2)),
    (0, (8, 1.6, 1.4, 1.6, 1.4, 1.6)),
    (0, (1.4, 3)),
)

INK = "#1a1a1a"
FAINT = "#d9d9d9"
QUIET = "#595959"

#: The same hues on a dark page, lighter and still apart for colour-blind eyes.
_ON_DARK = {
    "#0072b2": "#3d94e0",
    "#d55e00": "#f07a2e",
    "#009e73": "#1fb58a",
    "#cc79a7": "#e6a3cb",
    "#56b4e9": "#a4dcfb",
    "#e69f00": "#f5bd3d",
    "#000000": "#f2f2f2",
    "#ffffff": "#14171a",
    INK: "#e8e8e8",
    FAINT: "#3a3f44",
    QUIET: "#a9afb5",
}

#: matplotlib settings of every figure.
RC: dict[str, object] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "flashcrowd",
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 9.0,
    "axes.titlesize": 9.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.labelsize": 9.0,
    "axes.edgecolor": QUIET,
    "axes.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": FAINT,
    "grid.linewidth": 0.6,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "xtick.labelsize": 8.5,
    "ytick.labelsize": 8.5,
    "legend.frameon": False,
    "legend.fontsize": 8.5,
    "legend.title_fontsize": 8.5,
    "lines.linewidth": 1.6,
    "lines.markersize": 4.5,
    "lines.solid_capstyle": "round",
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "savefig.facecolor": "none",
    "pdf.fonttype": 42,
    "path.simplify": True,
    "path.simplify_threshold": 0.2,
}


@cache
def dark(color: str) -> str:
    """The colour of a dark page for `color`, ``#rrggbb`` on light paper."""
    color = color.lower()
    return _ON_DARK.get(color) or _scale_on_dark().get(color) or _inverted(color)


@cache
def _scale_on_dark() -> dict[str, str]:
    """The dark end of the scale of ordered series becomes its light end."""
    steps = np.linspace(0, 1, 2001)
    return dict(zip(_on_scale(0.8 * steps), _on_scale(1 - 0.6 * steps), strict=True))


def _on_scale(places: np.ndarray) -> list[str]:
    """Colours of a scale from dark (0) to light (1), as ``#rrggbb``."""
    parts = np.round(255 * colormaps["cividis"](places)[:, :3]).astype(np.uint8)
    return [f"#{color.tobytes().hex()}" for color in parts]


def _inverted(color: str) -> str:
    """Another colour: its hue, light where it was dark."""
    red, green, blue = (int(color[i : i + 2], 16) / 255 for i in (1, 3, 5))
    hue, light, saturation = colorsys.rgb_to_hls(red, green, blue)
    return to_hex(colorsys.hls_to_rgb(hue, 0.92 - 0.82 * light, saturation))


@dataclass(frozen=True)
class SeriesStyle:
    """How one series is drawn."""

    color: str
    marker: str
    dashes: tuple[float, tuple[float, ...]]


def looks(count: int, *, ordered: bool = False) -> list[SeriesStyle]:
    """Looks for `count` series.

    Args:
        count: how many.
        ordered: the series are steps of one quantity; if they are more than the palette has
            colours, they run from dark to light in one colour-blind-safe scale.
    """
    if ordered and count > len(PALETTE):
        colors = _on_scale(0.8 * np.linspace(0, 1, count))
    else:
        colors = [PALETTE[i % len(PALETTE)] for i in range(count)]
    return [
        SeriesStyle(colors[i], MARKERS[i % len(MARKERS)], DASHES[i % len(DASHES)])
        for i in range(count)
    ]
