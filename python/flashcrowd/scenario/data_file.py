"""Files of numbers in rows, read alike: distributions, arrivals, traces of capacity."""

from __future__ import annotations

import csv
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from pathlib import Path

from flashcrowd.base.errors import visible
from flashcrowd.base.units import UnitError
from flashcrowd.scenario.files import Files
from flashcrowd.scenario.text_file import text_of

_NUMBER = re.compile(r"(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,2})?")
_LONGEST_NUMBER = 40
_COLUMN = re.compile(r"\s*(?P<name>[^\[\]]*?)\s*(?:\[\s*(?P<unit>[^\[\]]+?)\s*\]\s*)?")
_ROWS = re.compile(r"#\s*rows\s*:\s*(?P<count>.*?)\s*", re.IGNORECASE)
_NEARLY = re.compile(r"#\s*(?:rows?\b[\s=:]*(?P<after>[0-9]+)|(?P<before>[0-9]+)\s+rows?)\s*", re.I)
_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True)
class Row:
    """A line of a file that is neither empty nor a comment.

    Attributes:
        number: that of the line, from 1.
        text: the line.
    """

    number: int
    text: str

    @cached_property
    def cells(self) -> list[str]:
        """The texts between its commas, quotes taken off (RFC 4180).

        Raises:
            UnitError: a quote has no end.
        """
        if '"' not in self.text:
            return [cell.strip() for cell in self.text.split(",")]
        try:
            cells = next(csv.reader([self.text], strict=True, skipinitialspace=True))
        except csv.Error:
            hint = f"line {self.number} has {shown(self.text)}"
            raise UnitError("cells whose quotes end in the same line", hint) from None
        return [cell.strip() for cell in cells]


@dataclass(frozen=True)
class Column:
    """A column, by its heading."""

    name: str
    unit: str | None

    def is_one_of(self, words: Collection[str]) -> bool:
        """Whether a word of its name begins with one of `words`, or is it, if that is short."""
        own = _WORD.findall(self.name.lower())
        return any(it.startswith(word) if len(word) > 2 else it == word
                   for it in own for word in words)  # fmt: skip


@dataclass(frozen=True)
class DataFile:
    """A file of rows.

    Attributes:
        path: where it is.
        rows: its lines without comments and empty ones.
        said: how many rows of data a comment `# rows: N` says that it has; `None` without one.
        ends: whether its last line has a line break.
    """

    path: Path
    rows: list[Row]
    said: int | None
    ends: bool

    def place(self, row: Row, value: str | None = None) -> str:
        """File, line and value, for a hint."""
        return f"{self.path} line {row.number} has {shown(row.text if value is None else value)}"

    def cells(self, row: Row) -> list[str]:
        """The cells of a row.

        Raises:
            UnitError: a quote has no end; the hint names the file.
        """
        try:
            return row.cells
        except UnitError as error:
            raise UnitError(error.allowed, f"{self.path} {error.hint}") from None

    def columns(self) -> list[Column]:
        """The columns of the first line; none if it has something that is no column."""
        if not self.rows:
            return []
        found = [_COLUMN.fullmatch(cell) for cell in self.cells(self.rows[0])]
        return [Column(it["name"], it["unit"]) for it in found if it] if all(found) else []

    def separator(self) -> str:
        """A hint where the first line has other separators than commas; else nothing."""
        first = self.rows[0].text if self.rows else ""
        others = {";": "semicolons", "\t": "tabs"}
        found = [name for mark, name in others.items() if mark in first and "," not in first]
        return f"columns are separated by commas, not by {found[0]}" if found else ""

    def judge_end(self, files: Files, rows: int, said: int | None, *, known: bool = False) -> None:
        """Refuses a file that is not as long as it should be; doubts one whose end nothing tells.

        Args:
            files: where doubts go.
            rows: how many rows of data it has.
            said: how many the study says.
            known: whether something else tells that it is whole.
        """
        for count, where in ((said, "the study"), (self.said, "its comment")):
            if count is not None and count != rows:
                what = "was it cut?" if rows < count else "has it grown?"
                hint = f"{self.path} has {rows}; {what}"
                raise UnitError(f"a file of {count} rows, as {where} says", hint)
        if said is None and self.said is None and not known:
            files.doubt(
                self.path, f"{rows} rows", "nothing tells whether these are all",
                f"write a line `# rows: {rows}` into it, or `rows = {rows}` beside `file`",
            )  # fmt: skip
        if not self.ends:
            files.doubt(
                self.path, shown(self.rows[-1].text), "the last line has no line break",
                "the file may be cut within a number; end it with a line break if it is not",
            )  # fmt: skip

    def doubt_column(
        self, files: Files, column: Column, words: Collection[str], meant: str
    ) -> None:
        """Doubts a column whose name is none of those that its meaning has."""
        if not column.is_one_of(words):
            files.doubt(self.path, f'column "{visible(column.name)}"', f"it is read as {meant}")


def data_file(path: Path, most: int) -> DataFile:
    """Reads a file of rows.

    Args:
        path: the file.
        most: more rows than that are refused.

    Raises:
        OSError: it cannot be read, or is too long.
        UnicodeDecodeError: it is not UTF-8.
        UnitError: it has a NUL byte, too many rows, or two comments that differ about its rows.
    """
    text = text_of(path, regular=True)
    rows: list[Row] = []
    said: int | None = None
    for number, line in enumerate(text.split("\n"), 1):
        bare = line.strip(" \t")
        if "\0" in bare:
            hint = f"{path} line {number} has {shown(bare)}"
            raise UnitError("a text without NUL bytes", hint)
        if bare.startswith("#"):
            said = _said(bare, said, f"{path} line {number}")
        elif bare:
            rows.append(Row(number, bare))
            if len(rows) > most + 1:
                raise UnitError(f"at most {most} entries", f"{path} has more")
    return DataFile(path, rows, said, text.endswith("\n"))


def _said(comment: str, before: int | None, place: str) -> int | None:
    match = _ROWS.fullmatch(comment)
    if match is None:
        if nearly := _NEARLY.fullmatch(comment):
            meant = f"a comment `# rows: {nearly['after'] or nearly['before']}`"
            raise UnitError(meant, f"{place} has {shown(comment)}")
        return before
    count = match["count"]
    if not (count.isascii() and count.isdigit() and len(count) < 10):
        allowed = "a whole number of rows, as in `# rows: 240`"
        raise UnitError(allowed, f"{place} has {shown(comment)}")
    if before not in (None, int(count)):
        raise UnitError("one comment `# rows: N`", f"{place} has another, {shown(comment)}")
    return int(count)


def number(text: str) -> Fraction | None:
    """A number of zero or more, in ASCII digits; `None` if a text is none."""
    if len(text) > _LONGEST_NUMBER or not _NUMBER.fullmatch(text):
        return None
    return Fraction(text) if text.isdigit() else Fraction(Decimal(text))


def is_negative(text: str) -> bool:
    """Whether a text is a number of less than zero."""
    return text.startswith("-") and number(text[1:]) is not None


def shown(text: str | Sequence[str]) -> str:
    """Text of a file, in quotes and cut if long."""
    said = visible(text if isinstance(text, str) else ",".join(text))
    return f'"{said}"' if len(said) <= 40 else f'"{said[:37]}..."'
