"""Reads a link's capacity from a file: a Mahimahi trace, or a CSV file of two columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path

from flashcrowd.base.errors import did_you_mean
from flashcrowd.base.units import Quantity, Rate, Span, UnitError
from flashcrowd.scenario.capacity import MOST_ENTRIES, Capacity
from flashcrowd.scenario.data_file import Column, DataFile, Row, data_file, is_negative, number
from flashcrowd.scenario.files import Files
from flashcrowd.scenario.text_file import unread

HEADER = "time [s],rate [Mbit/s]"
"""A first line of a CSV file."""
_FILE = f'a Mahimahi trace (a whole number of milliseconds a line), or CSV with "{HEADER}"'
_DATA = Path(__file__).parent / "data"
_SUFFIX = "-capacity.csv"

_TIMES = ("time", "t", "at", "start", "begin", "instant", "from", "seconds", "second", "elapsed")
_RATES = (
    "rate", "r", "bitrate", "capacity", "bandwidth", "bw", "throughput", "speed", "goodput",
    "up", "uplink", "upload", "down", "downlink", "download",
)  # fmt: skip
"""Accepted column headings."""


def shipped() -> list[str]:
    """Names of the traces that ship."""
    return sorted(path.name.removesuffix(_SUFFIX) for path in _DATA.glob(f"*{_SUFFIX}"))


def read_capacity(name: str, files: Files, rows: int | None = None) -> Capacity:
    """The capacity that a file says.

    Args:
        name: the file's path, relative to that of the study, or the name of a trace that ships.
        files: where files are, and where doubts go.
        rows: how many rows the study says that it has.

    Raises:
        UnitError: the file cannot be read, or says none; the hint names file, line and value.
    """
    if not name or "\0" in name:
        raise UnitError(_FILE, "it has no name" if not name else "its name has a NUL byte")
    path = _DATA / f"{name}{_SUFFIX}" if name in shipped() else files.directory / name
    try:
        found = path.stat()
        file, columns, capacity = _read(path, found.st_mtime_ns, found.st_size, found.st_ino)
    except UnicodeDecodeError as error:
        raise UnitError(_FILE, f"cannot read {path}: {unread(error)}") from None
    except OSError as error:
        hint = did_you_mean(name, shipped()) or f"cannot read {path}: {error.strerror}"
        raise UnitError(_FILE, hint) from None
    file.judge_end(files, len(capacity.times), rows)
    meant = ((_TIMES, "times"), (_RATES, "rates"))
    for column, (words, what) in zip(columns, meant, strict=False):
        file.doubt_column(files, column, words, what)
    return capacity


@lru_cache(maxsize=32)
def _read(path: Path, *_signature: int) -> tuple[DataFile, list[Column], Capacity]:
    """The content of a file, read once as long as the file does not change."""
    file = data_file(path, MOST_ENTRIES)
    if not file.rows:
        raise UnitError(_FILE, f"{path} is empty")
    if not _is_number(file.rows[0].text):
        return file, *_rates(file)
    return file, [], _made(file, file.rows, lambda: Capacity.of("opportunities", _instants(file)))


def _is_number(text: str) -> bool:
    return number(text.removeprefix("-")) is not None


def _instants(file: DataFile) -> list[int]:
    instants: list[int] = []
    for row in file.rows:
        if not (row.text.isascii() and row.text.isdigit() and len(row.text) < 16):
            hint = file.place(row)
            if is_negative(row.text):
                raise UnitError("a number of milliseconds of zero or more", hint)
            raise UnitError("a whole number of milliseconds in each line", hint)
        instants.append(int(row.text))
    return instants


def _rates(file: DataFile) -> tuple[list[Column], Capacity]:
    columns, rows = file.columns(), file.rows[1:]
    units = [it.unit or "" for it in columns]
    if len(units) != 2 or units[0] not in Span.units or units[1] not in Rate.units:
        place, other = file.place(file.rows[0]), file.separator()
        hint = f"{place}; {other}" if other else place
        raise UnitError(f'a first line as in "{HEADER}"', hint)
    if not rows:
        raise UnitError("at least one line after the first", f"{file.path} has none")
    times: list[int] = []
    rates: list[int] = []
    for row in rows:
        cells = file.cells(row)
        if len(cells) != 2:
            raise UnitError("two columns, a time and a rate", file.place(row))
        times.append(_amount(cells[0], units[0], Span, file, row))
        rates.append(_amount(cells[1], units[1], Rate, file, row))
    return columns, _made(file, rows, lambda: Capacity.of("rates", times, rates))


def _amount(cell: str, unit: str, quantity: type[Quantity], file: DataFile, row: Row) -> int:
    """A number of a column in base units, to the nearest."""
    found = number(cell)
    if found is None:
        if is_negative(cell):
            raise UnitError(f"{quantity.noun} of zero or more", file.place(row, cell))
        allowed = f'{quantity.noun} as a number, its unit "{unit}" stands in the first line'
        raise UnitError(allowed, file.place(row, cell))
    return round(found * quantity.units[unit])


def _made(file: DataFile, rows: Sequence[Row], make: Callable[[], Capacity]) -> Capacity:
    """The result of `make`; a mistake in an entry names its line."""
    try:
        return make()
    except UnitError as error:
        place = file.place(rows[int(error.key)]) if error.key else str(file.path)
        hint = f"{place}; {error.hint}" if error.hint else place
        raise UnitError(error.allowed, hint) from None
