"""Reads files of arrivals: when each peer came and how long it stayed, or how many came an hour."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from pathlib import Path
from typing import Any

from flashcrowd.errors import visible
from flashcrowd.scenario.text_file import text_of
from flashcrowd.units import Span, UnitError

MOST_LINES = 100_000
"""A study has no more hosts."""

HEADERS = (
    "arrival [s]", "arrival [s],session [s]", "arrival [s],departure [s]", "time [h],peers [1/h]"
)  # fmt: skip
ALLOWED = "a CSV file whose first line is as in " + ", ".join(f'"{it}"' for it in HEADERS)

_STAYS = ("session", "stay", "duration", "length")
_LEAVES = ("departure", "leave", "left", "end")
_COLUMN = re.compile(r"\s*(?P<name>[^\[\]]*?)\s*\[(?P<unit>[^\[\]]+)\]\s*")
_PER = re.compile(r"1/(?P<unit>\w+)")

Row = tuple[int, list[str]]
"""Number of a line, and its cells."""


def read_arrivals(name: str, directory: Path | None) -> dict[str, Any]:
    """The content of a file of arrivals, as the keys of the table that it stands for.

    Args:
        name: as the study has it.
        directory: where the study is.

    Raises:
        UnitError: it cannot be read, or is none; `key` is "file".
    """
    path = (directory or Path()) / name
    try:
        text = text_of(path)
    except (OSError, UnicodeDecodeError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text"
        raise UnitError(ALLOWED, f"cannot read {path}: {reason}", key="file") from None
    lines = enumerate(text.splitlines(), 1)
    kept = [(number, line) for number, line in lines if line.strip() and line[0] != "#"]
    if len(kept) > MOST_LINES + 1:
        hint = f"{path} has {len(kept) - 1} lines"
        raise UnitError(f"a file of at most {MOST_LINES} lines", hint, key="file")
    try:
        rows = [(number, next(csv.reader([line]))) for number, line in kept]
    except csv.Error as error:
        raise UnitError(ALLOWED, f"{path}: {error}", key="file") from None
    return _content(rows, path)


def _content(rows: Sequence[Row], path: Path) -> dict[str, Any]:
    header = [_COLUMN.fullmatch(cell) for cell in rows[0][1]] if rows else []
    columns = [(it["name"].lower(), it["unit"].strip()) for it in header if it]
    if len(columns) != len(header) or not 1 <= len(columns) <= 2 or columns[0][1] not in Span.units:
        hint = f"{path} begins with {_shown(rows[0][1])}" if rows else f"{path} has no lines"
        raise UnitError(ALLOWED, hint, key="file")
    if len(rows) < 2:
        raise UnitError("a file with a line for each arrival", f"{path} has none", key="file")
    first = columns[0][1]
    at = [_span(row, 0, first, path, len(columns)) for row in rows[1:]]
    if len(columns) == 1:
        return {"kind": "times", "at": at}
    name, unit = columns[1]
    rate = _PER.fullmatch(unit)
    if rate and rate["unit"] in Span.units:
        hour = float(3600 * 10**9 / Span.units[rate["unit"]])
        rates = [float(_number(row, 1, path)) * hour for row in rows[1:]]
        return {"kind": "rates", "per_hour": list(zip(at, rates, strict=True))}
    stays = name.startswith(_STAYS)
    if unit not in Span.units or not (stays or name.startswith(_LEAVES)):
        raise UnitError(ALLOWED, f"{path} begins with {_shown(rows[0][1])}", key="file")
    leave: list[Span | str] = []
    for (number, cells), begin in zip(rows[1:], at, strict=True):
        if not cells[1].strip():
            leave.append("none")
            continue
        end = _span((number, cells), 1, unit, path, 2)
        end = Span.of(begin.ns + end.ns) if stays else end
        if end <= begin:
            allowed = "a stay of more than zero" if stays else "a departure after the arrival"
            raise _wrong((number, cells), path, allowed)
        leave.append(end)
    return {"kind": "times", "at": at, "leave": leave}


def _span(row: Row, place: int, unit: str, path: Path, width: int) -> Span:
    """The time in a cell, to the nanosecond."""
    if len(row[1]) != width:
        raise _wrong(row, path, f"{width} column{'s' if width > 1 else ''}, as in the first line")
    try:
        return Span.of(round(Fraction(_number(row, place, path)) * Span.units[unit]))
    except UnitError as error:
        raise _wrong(row, path, error.allowed) from None


def _number(row: Row, place: int, path: Path) -> Decimal:
    try:
        number = Decimal(row[1][place].strip())
    except (InvalidOperation, IndexError):
        raise _wrong(row, path, "numbers") from None
    if not number.is_finite() or abs(number.adjusted()) > 30 or number < 0:
        raise _wrong(row, path, "numbers of zero or more")
    return number


def _wrong(row: Row, path: Path, allowed: str) -> UnitError:
    return UnitError(allowed, f"{path} line {row[0]} has {_shown(row[1])}", key="file")


def _shown(cells: Sequence[str]) -> str:
    text = visible(",".join(cells))
    return f"'{text}'" if len(text) <= 60 else f"'{text[:57]}...'"
