"""The drawing of a study's network, as a figure of its report."""

from __future__ import annotations

from collections.abc import Mapping

from flashcrowd.diagram import describe, draw
from flashcrowd.drawing.blocks import Figure, Svg

_CAPTION = (
    "The network of the study, as the file describes it: groups of hosts with their lines, the "
    "links between them, and the workloads of each group. A study with a map also has the edges "
    "that packets cross, and the arrivals. Lines are thicker where the line up is faster."
)


def network(study: Mapping[str, object], slug: str = "network") -> Figure:
    """The drawing of a resolved study, as ``results.study`` has it."""
    svg = Svg(draw(study), draw(study, narrow=True))
    return Figure(slug, svg, _CAPTION, describe(study))
