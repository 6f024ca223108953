"""Reads a link's capacity from a file: a Mahimahi trace, or a CSV file of two columns."""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from stat import S_ISREG

from flashcrowd.errors import did_you_mean, visible
from flashcrowd.scenario.capacity import MOST_ENTRIES, Capacity
from flashcrowd.scenario.text_file import text_of
from flashcrowd.units import Quantity, Rate, Span, UnitError

HEADER = "time [s],rate [Mbit/s]"
"""A first line of a CSV file."""
_FILE = f'a Mahimahi trace (a whole number of milliseconds a line), or CSV with "{HEADER}"'
_DATA = Path(__file__).parent / "data"
_SUFFIX = "-capacity.csv"
_NUMBER = re.compile(r"(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,2})?")
_LONGEST_NUMBER = 40

_Row = tuple[int, str]


def shipped() -> list[str]:
    """Names of the traces that ship."""
    return sorted(path.name.removesuffix(_SUFFIX) for path in _DATA.glob(f"*{_SUFFIX}"))


def read_capacity(name: str, directory: Path) -> Capacity:
    """The capacity that a file says.

    Args:
        name: the file's path, relative to `directory`, or the name of a trace that ships.
        directory: that of the study.

    Raises:
        UnitError: the file cannot be read, or says none; the hint names file, line and value.
    """
    if not name or "\0" in name:
        raise UnitError(_FILE, "it has no name" if not name else "its name has a NUL byte")
    path = _DATA / f"{name}{_SUFFIX}" if name in shipped() else directory / name
    try:
        found = path.stat()
        if not S_ISREG(found.st_mode):
            raise UnitError(_FILE, f"{path} is no file but a folder or a device")
        return _read(path, found.st_mtime_ns, found.st_size, found.st_ino)
    except UnicodeDecodeError:
        raise UnitError(_FILE, f"cannot read {path}: it is not text in UTF-8") from None
    except OSError as error:
        hint = did_you_mean(name, shipped()) or f"cannot read {path}: {error.strerror}"
        raise UnitError(_FILE, hint) from None


@lru_cache(maxsize=32)
def _read(path: Path, *_signature: int) -> Capacity:
    """What a file says, read once as long as it stays as it is."""
    rows: list[_Row] = []
    for number, line in enumerate(text_of(path).split("\n"), 1):
        text = line.strip(" \t")
        if text and not text.startswith("#"):
            rows.append((number, text))
            if len(rows) > MOST_ENTRIES + 1:
                raise UnitError(f"at most {MOST_ENTRIES} entries", f"{path} has more")
    if not rows:
        raise UnitError(_FILE, f"{path} is empty")
    if "," in rows[0][1]:
        return _rates(rows, path)
    return _made(path, rows, lambda: Capacity.of("opportunities", _instants(rows, path)))


def _instants(rows: list[_Row], path: Path) -> list[int]:
    instants: list[int] = []
    for number, text in rows:
        if not (text.isascii() and text.isdigit() and len(text) < 16):
            hint = _place(path, number, text)
            if text.startswith("-"):
                raise UnitError("a number of milliseconds of zero or more", hint)
            raise UnitError("a whole number of milliseconds in each line", hint)
        instants.append(int(text))
    return instants


def _rates(rows: list[_Row], path: Path) -> Capacity:
    columns = [cell.strip() for cell in rows[0][1].split(",")]
    units = [cell.partition("[")[2].removesuffix("]").strip() for cell in columns]
    if len(units) != 2 or units[0] not in Span.units or units[1] not in Rate.units:
        raise UnitError(f'a first line as in "{HEADER}"', _place(path, *rows[0]))
    del rows[0]
    if not rows:
        raise UnitError("at least one line after the first", f"{path} has none")
    times: list[int] = []
    rates: list[int] = []
    for number, text in rows:
        cells = [cell.strip() for cell in text.split(",")]
        if len(cells) != 2:
            raise UnitError("two columns, a time and a rate", _place(path, number, text))
        times.append(_amount(cells[0], units[0], Span, path, number))
        rates.append(_amount(cells[1], units[1], Rate, path, number))
    return _made(path, rows, lambda: Capacity.of("rates", times, rates))


def _amount(cell: str, unit: str, quantity: type[Quantity], path: Path, number: int) -> int:
    """A number of a column in base units, to the nearest."""
    if len(cell) > _LONGEST_NUMBER or not _NUMBER.fullmatch(cell):
        if cell.startswith("-") and _NUMBER.fullmatch(cell[1:]):
            raise UnitError(f"{quantity.noun} of zero or more", _place(path, number, cell))
        allowed = f'{quantity.noun} as a number, its unit "{unit}" stands in the first line'
        raise UnitError(allowed, _place(path, number, cell))
    return round(Fraction(Decimal(cell)) * quantity.units[unit])


def _made(path: Path, rows: list[_Row], make: object) -> Capacity:
    """What `make` gives; a mistake in an entry names its line."""
    try:
        return make()  # type: ignore[operator]
    except UnitError as error:
        place = _place(path, *rows[int(error.key)]) if error.key else str(path)
        hint = f"{place}; {error.hint}" if error.hint else place
        raise UnitError(error.allowed, hint) from None


def _place(path: Path, number: int, text: str) -> str:
    short = text if len(text) <= 40 else text[:37] + "..."
    return f'{path} line {number} has "{visible(short)}"'
