"""How figures look: colours that everybody can tell apart, and never colour alone.

The palette is that of Okabe and Ito without its yellow, which does not show on white. Every
series also has a marker and a line style of its own, so that a figure survives a black-and-white
printer.
"""

from __future__ import annotations

from dataclasses import dataclass

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
    "figure.facecolor": "white",
    "path.simplify": True,
    "path.simplify_threshold": 0.2,
}


@dataclass(frozen=True)
class Look:
    """How one series is drawn."""

    color: str
    marker: str
    dashes: tuple[float, tuple[float, ...]]


def looks(count: int, *, ordered: bool = False) -> list[Look]:
    """Looks for `count` series.

    Args:
        count: how many.
        ordered: the series are steps of one quantity; if they are more than the palette has
            colours, they run from dark to light in one colour-blind-safe scale.
    """
    if ordered and count > len(PALETTE):
        scale = colormaps["cividis"]
        colors = [to_hex(scale(0.8 * i / (count - 1))) for i in range(count)]
    else:
        colors = [PALETTE[i % len(PALETTE)] for i in range(count)]
    return [
        Look(colors[i], MARKERS[i % len(MARKERS)], DASHES[i % len(DASHES)]) for i in range(count)
    ]
