"""The parts of a page: sections of text, tables and figures, without any layout."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
    """Names and their meanings, as a list of definitions."""

    items: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Cell:
    """A cell of a table: text, the text below it in small type, and a mark for its colour.

    Attributes:
        text: what it says.
        small: an interval or another addition.
        mark: empty, ``good``, ``bad``, ``open`` or ``none``; never the only carrier of a meaning.
        target: anchor of the page that the text leads to; empty for none.
    """

    text: str
    small: str = ""
    mark: str = ""
    target: str = ""


@dataclass(frozen=True)
class Table:
    """A table with a caption.

    Attributes:
        header: headings of the columns.
        rows: cells; plain text is a cell without additions.
        caption: what it shows and how many runs it is of.
        text_columns: indices of columns that are words and not numbers.
        folded: whether the page shows only its caption until asked.
    """

    header: Sequence[str]
    rows: Sequence[Sequence[str | Cell]]
    caption: str
    text_columns: frozenset[int] = frozenset({0})
    folded: bool = False

    def __post_init__(self) -> None:
        """Means become cells in `report.columns.table`, with one unit and precision a column."""
        strange = next((it for row in self.rows for it in row if not isinstance(it, str | Cell)), 0)
        if strange:
            raise TypeError(f"a cell of a table is text, not {strange!r}")

    @property
    def heads(self) -> int:
        """How many columns, from the first, say what a row is about."""
        columns = len(self.header)
        words = next((i for i in range(columns) if i not in self.text_columns), columns)
        return words if words < columns else 1


@dataclass(frozen=True)
class Svg:
    """A drawing as SVG text.

    Attributes:
        wide: for screens and paper; the content of a figure's file.
        narrow: the same laid out for phones; empty if `wide` can be read there, too.
        log: both with a logarithmic ordinate, where that shows more; else empty.
        data: the numbers of the drawing as CSV; empty if it shows none.
        printed: the drawing in another format or width, by the suffix of its file.
    """

    wide: str
    narrow: str = ""
    log: tuple[str, str] | tuple[()] = ()
    data: str = ""
    printed: Mapping[str, bytes] = field(default_factory=dict)


@dataclass(frozen=True)
class Figure:
    """A drawing with a caption.

    Attributes:
        slug: name of the SVG file, without suffix.
        svg: the drawing.
        caption: what it shows, with units and the number of runs.
        alt: the same for readers who cannot see it.
    """

    slug: str
    svg: Svg
    caption: str
    alt: str


@dataclass(frozen=True)
class Playback:
    """Something that moves: drawn by a script of the page, from data in the page.

    Attributes:
        slug: its name among those of a page.
        json: the data.
        caption: what it shows.
        alt: the same for readers who cannot see it.
    """

    slug: str
    json: str
    caption: str
    alt: str


Block = Text | Notice | Facts | Table | Figure | Playback


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
        question: what it answers, in the reader's words; it is before `lead`.
        sections: the body.
        foot: last line.
    """

    title: str
    lead: str
    sections: Sequence[Section]
    foot: str = ""
    warnings: Sequence[str] = field(default_factory=tuple)
    question: str = ""

    def figures(self) -> list[Figure]:
        """All figures, in order."""
        return [b for section in self.sections for b in section.blocks if isinstance(b, Figure)]
