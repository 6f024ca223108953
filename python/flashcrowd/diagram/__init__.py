"""Drawings of a study's network: boxes and lines in SVG, from the resolved study alone.

Nothing here needs an engine or a plotting library.
"""

from flashcrowd.diagram.svg import describe, draw

__all__ = ["describe", "draw"]
