"""Several results folders side by side: one study more, whose last axis is the folder.

The tables of the folders are concatenated, runs renumbered, with one more column of ``runs``: the
folder. What a report says of a study it can then say of a comparison, by the same code: a measure
is taken at a point, a change is taken in pairs of runs that share a seed, and curves of the folders
lie over each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.console import RenderableType

from flashcrowd.report import compare_match, compare_page, compare_table, compare_words
from flashcrowd.report.compare_pairs import Pairs
from flashcrowd.report.compare_side import Incomparable, Side
from flashcrowd.report.equivalence import LEVEL, MARGIN
from flashcrowd.store.html import printed
from flashcrowd.store.results import Results

__all__ = ["Comparison", "Incomparable", "Side", "compare", "compare_sides", "open_side"]


class Comparison(Pairs):
    """Two or more results folders side by side, and how that is shown."""

    def answer(self) -> list[str]:
        """The answer, a sentence for each measure and folder."""
        return compare_words.sentences(self)

    def __rich__(self) -> RenderableType:
        """The table for a terminal."""
        return self.summary()

    def _repr_html_(self) -> str:
        return printed(self)

    def summary(self, *, every: bool = False) -> RenderableType:
        """The answer, and the tables of the headline's measures or of `every` one."""
        return compare_table.summary(self, None if every else self.decisive)

    def write(self, folder: str | Path) -> Path:
        """Write ``compare.html`` and its figures into a folder; gives the path of the page."""
        return compare_page.write(self, Path(folder))


def compare(
    first: Results,
    *others: Results,
    margin: float = MARGIN,
    level: float = LEVEL,
    names: Sequence[str] | None = None,
) -> Comparison:
    """Put results side by side; the others are compared with the first.

    Args:
        first: what the others are compared with.
        others: the others.
        margin: relative margin of the test of equivalence, 0.05 for 5 %.
        level: of each of its two one-sided tests.
        names: what to call them; without, their engines, or the ends of their paths that tell them
            apart.

    Raises:
        Incomparable: they have no point or no measure in common; it says why.
        ValueError: the margin is not between 0 and 1, or there is nothing to compare with.
    """
    return compare_sides(compare_match.named([first, *others], names), margin, level)


def compare_sides(
    sides: Sequence[Side], margin: float = MARGIN, level: float = LEVEL
) -> Comparison:
    """As :func:`compare`, from sides (see `open_side` for folders of other versions)."""
    if len(sides) < 2:
        raise ValueError("a comparison needs at least two results folders")
    if not 0 < margin < 1:
        raise ValueError(f"margin: {margin}; a share between 0 and 1 is needed")
    found = Comparison(sides, compare_match.merged(sides), margin, level)
    if not found.measures:
        raise Incomparable(["No measure is there in every folder.", *found.notices])
    return found


def open_side(path: str | Path, name: str = "") -> Side:
    """One side from a results folder, of whatever version of the tables."""
    return Side.opened(Path(path), name)
