"""Reads files of arrivals: when each peer came and how long it stayed, or how many came an hour."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from flashcrowd.base.units import Span, UnitError
from flashcrowd.scenario.data_file import Column, DataFile, Row, data_file, is_negative, number
from flashcrowd.scenario.files import Files
from flashcrowd.scenario.text_file import unread

MOST_LINES = 100_000
"""A study has no more hosts."""

HEADERS = (
    "arrival [s]", "arrival [s],session [s]", "arrival [s],departure [s]", "time [h],peers [1/h]"
)  # fmt: skip
ALLOWED = "a CSV file whose first line is as in " + ", ".join(f'"{it}"' for it in HEADERS)

_COMES = ("arriv", "come", "came", "start", "begin", "began", "join", "enter", "time", "t", "at")
_STAYS = ("session", "stay", "duration", "length")
_LEAVES = ("departure", "leave", "left", "end")
_COMING = ("peer", "arriv", "rate", "count", "number", "host", "client", "user", "people")
"""Accepted column headings."""
_PER = re.compile(r"1/(?P<unit>\w+)")


def read_arrivals(name: str, files: Files, rows: int | None = None) -> dict[str, Any]:
    """The content of a file of arrivals, as the keys of the table that it replaces.

    Args:
        name: as the study has it.
        files: where files are, and where doubts go.
        rows: how many rows the study says that it has.

    Raises:
        UnitError: it cannot be read, or is none; `key` is "file".
    """
    path = files.directory / name
    try:
        file = data_file(path, MOST_LINES)
        return _content(file, files, rows)
    except (OSError, UnicodeDecodeError) as error:
        raise UnitError(ALLOWED, f"cannot read {path}: {unread(error)}", key="file") from None
    except UnitError as error:
        raise UnitError(error.allowed, error.hint, key="file") from None
    except ValueError:  # a name with a NUL byte
        raise UnitError(ALLOWED, "its name has a NUL byte", key="file") from None


def _content(file: DataFile, files: Files, said: int | None) -> dict[str, Any]:
    columns, rows = file.columns(), file.rows[1:]
    if not 1 <= len(columns) <= 2 or columns[0].unit not in Span.units:
        raise _no_header(file)
    if not rows:
        raise UnitError("a file with a line for each arrival", f"{file.path} has none")
    cells = [_cells(file, row, len(columns)) for row in rows]
    at = [_span(file, row, them[0], columns[0]) for row, them in zip(rows, cells, strict=True)]
    file.doubt_column(files, columns[0], _COMES, "instants of arrival")
    if len(columns) == 1:
        file.judge_end(files, len(rows), said, known=True)
        return {"kind": "times", "at": at}
    name, unit = columns[1].name.lower(), columns[1].unit or ""
    rate = _PER.fullmatch(unit)
    if rate and rate["unit"] in Span.units:
        hour = float(3600 * 10**9 / Span.units[rate["unit"]])
        rates = [
            float(_amount(file, row, them[1])) * hour for row, them in zip(rows, cells, strict=True)
        ]
        file.doubt_column(files, columns[1], _COMING, "rates of arrival")
        file.judge_end(files, len(rows), said)
        return {"kind": "rates", "per_hour": list(zip(at, rates, strict=True))}
    stays = name.startswith(_STAYS)
    if unit not in Span.units or not (stays or name.startswith(_LEAVES)):
        raise _no_header(file)
    leave: list[Span | str] = []
    for row, them, begin in zip(rows, cells, at, strict=True):
        if not them[1]:
            leave.append("none")
            continue
        end = _span(file, row, them[1], columns[1])
        end = Span.of(begin.ns + end.ns) if stays else end
        if end <= begin:
            allowed = "a stay of more than zero" if stays else "a departure after the arrival"
            raise UnitError(allowed, file.place(row))
        leave.append(end)
    file.judge_end(files, len(rows), said, known=True)
    return {"kind": "times", "at": at, "leave": leave}


def _no_header(file: DataFile) -> UnitError:
    if not file.rows:
        return UnitError(ALLOWED, f"{file.path} has no lines")
    place, other = file.place(file.rows[0]), file.separator()
    return UnitError(ALLOWED, f"{place}; {other}" if other else place)


def _cells(file: DataFile, row: Row, width: int) -> Sequence[str]:
    cells = file.cells(row)
    if len(cells) != width:
        allowed = f"{width} column{'s' if width > 1 else ''}, as in the first line"
        raise UnitError(allowed, file.place(row))
    return cells


def _span(file: DataFile, row: Row, cell: str, column: Column) -> Span:
    """The time in a cell, to the nanosecond."""
    try:
        return Span.measured(_amount(file, row, cell), column.unit or "")
    except UnitError as error:
        raise UnitError(error.allowed, file.place(row)) from None


def _amount(file: DataFile, row: Row, cell: str) -> Fraction:
    found = number(cell)
    if found is None:
        allowed = "numbers of zero or more" if is_negative(cell) else "numbers in digits"
        raise UnitError(allowed, file.place(row))
    return found
