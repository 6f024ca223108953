"""What a page consists of: sections of text, tables and figures, without any layout."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Text:
    """A paragraph."""

    text: str


@dataclass(frozen=True)
class Notice:
    """A paragraph that must not be overlooked."""

    text: str


@dataclass(frozen=True)
class Facts:
    """Names and what they stand for, as a list of definitions."""

    items: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Cell:
    """A cell of a table: text, the text below it in small type, and a mark for its colour.

    Attributes:
        text: what it says.
        small: an interval or another addition.
        mark: empty, ``good``, ``bad``, ``open`` or ``none``; never the only carrier of a meaning.
    """

    text: str
    small: str = ""
    mark: str = ""


@dataclass(frozen=True)
class Table:
    """A table with a caption.

    Attributes:
        header: headings of the columns.
        rows: cells; plain text stands for a cell without additions.
        caption: what it shows and how many runs stand behind it.
        text_columns: indices of columns that are words and not numbers.
        folded: whether the page shows only its caption until asked.
    """

    header: Sequence[str]
    rows: Sequence[Sequence[str | Cell]]
    caption: str
    text_columns: frozenset[int] = frozenset({0})
    folded: bool = False


@dataclass(frozen=True)
class Figure:
    """A drawing with a caption, kept as SVG text.

    Attributes:
        slug: name of the SVG file, without suffix.
        svg: the drawing.
        caption: what it shows, with units and the number of runs.
        alt: the same for somebody who cannot see it.
    """

    slug: str
    svg: str
    caption: str
    alt: str


Block = Text | Notice | Facts | Table | Figure


@dataclass(frozen=True)
class Section:
    """A heading and what stands under it.

    Attributes:
        title: the heading.
        slug: name of its anchor.
        blocks: what stands under it.
        short: the heading in the list of contents; empty for the whole title.
    """

    title: str
    slug: str
    blocks: Sequence[Block]
    short: str = ""


@dataclass(frozen=True)
class Page:
    """A whole page.

    Attributes:
        title: heading.
        lead: one or two sentences under it.
        sections: the body.
        foot: last line.
    """

    title: str
    lead: str
    sections: Sequence[Section]
    foot: str = ""
    warnings: Sequence[str] = field(default_factory=tuple)

    def figures(self) -> list[Figure]:
        """All figures, in order."""
        return [b for section in self.sections for b in section.blocks if isinstance(b, Figure)]
