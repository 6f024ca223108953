"""Empirical distributions: round-trip time and loss for pairs of hosts, sessions for peers."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, Strict, ValidationInfo, model_validator

from flashcrowd.base.errors import did_you_mean, one_of
from flashcrowd.base.units import Quantity, Share, Span, UnitError
from flashcrowd.scenario.data_file import Column, DataFile, Row, data_file, number
from flashcrowd.scenario.fields import DelaySpan, MaybeCount, Probability, Table, Word
from flashcrowd.scenario.files import Files, as_many, rows_said
from flashcrowd.scenario.text_file import unread

DATA = Path(__file__).parent / "data"

MOST_POINTS = 100_000
"""More are surely a mistake: so fine no distribution is measured."""

MaybeFile = Annotated[str | None, Word("none")]

_FRACTIONS = (
    "cumulative", "fraction", "cdf", "ecdf", "probability", "quantile", "percentile", "share",
    "f", "p", "q",
)  # fmt: skip
"""Accepted column headings."""


def shipped(suffix: str) -> list[str]:
    """Names of the distributions that ship, for the quantity `suffix` ("rtt" or "loss")."""
    return sorted(path.stem.removesuffix(f"-{suffix}") for path in DATA.glob(f"*-{suffix}.csv"))


class _Distribution(Table):
    """Quantile points: a share `fraction` of all is below `value`; straight lines between them."""

    suffix: ClassVar[str]
    quantity: ClassVar[type[Quantity]]
    words: ClassVar[tuple[str, ...]]
    """Accepted headings of a column of the quantity."""

    @model_validator(mode="before")
    @classmethod
    def _read_file(cls, given: Any, info: ValidationInfo) -> Any:
        if not isinstance(given, dict) or not isinstance(given.get("file"), str):
            return given
        name = given["file"]
        if name in ("none", given.get("read") if "points" in given else "none"):
            return given
        if "points" in given and not given.get("read"):
            raise UnitError("a file, or points of one's own", "not both", key="file")
        return {
            **given,
            "read": name,
            "points": cls._points(name, Files.of(info), rows_said(given)),
        }

    @classmethod
    def _points(cls, name: str, files: Files, rows: int | None) -> list[tuple[Share, Quantity]]:
        return read_points(name, files, cls.suffix, cls.quantity, cls.words, rows)

    @model_validator(mode="after")
    def _whole(self) -> Self:
        points: list[tuple[Quantity, Quantity]] = getattr(self, "points", [])
        name: str | None = getattr(self, "file", None)
        as_many(getattr(self, "rows", None), len(points), "points")
        key = "file" if name else "points"
        pairs = [(fraction.amount, value.amount) for fraction, value in points]
        for place, (before, after) in enumerate(itertools.pairwise(pairs), 1):
            if not (before[0] <= after[0] and before[1] <= after[1]):
                hint = f"{_said(points[place])} follows {_said(points[place - 1])}"
                raise UnitError("points whose fractions and values both rise", hint, key)
        for end, point, whole in (("begins", 0, 0), ("ends", -1, 1)):
            if pairs[point][0] != whole:
                hint = f"it {end} with {_said(points[point])}"
                hint = f"{hint}; was the file cut?" if name else hint
                raise UnitError("a distribution from 0 % to 100 %", hint, key)
        return self


def _said(point: Sequence[Quantity]) -> str:
    fraction, value = point
    return f"{fraction}, {value}"


class RttDistribution(_Distribution):
    """Each pair of hosts draws its round-trip time, half of it for each direction."""

    suffix: ClassVar[str] = "rtt"
    quantity: ClassVar[type[Quantity]] = Span
    words: ClassVar[tuple[str, ...]] = ("rtt", "round", "value", "time", "ping")

    kind: Literal["distribution"] = "distribution"
    file: MaybeFile = None
    """A distribution that ships ("iplane") or a CSV file, its path relative to the study."""
    rows: MaybeCount = None
    """How many rows of data the file has: one that was cut is refused."""
    read: MaybeFile = None
    """The file that `points` were read from. Where it is not `file`, that is read."""
    points: list[Annotated[tuple[Probability, DelaySpan], Strict(False)]] = Field(min_length=1)
    """Points of the quantile function, from 0 % to 100 %: cumulative fraction and RTT."""


class LossDistribution(_Distribution):
    """Each pair of hosts draws the loss probability of both its directions."""

    suffix: ClassVar[str] = "loss"
    quantity: ClassVar[type[Quantity]] = Share
    words: ClassVar[tuple[str, ...]] = ("loss", "lost", "drop", "value")

    kind: Literal["distribution"] = "distribution"
    file: MaybeFile = None
    """A distribution that ships ("iplane") or a CSV file, its path relative to the study."""
    rows: MaybeCount = None
    """How many rows of data the file has: one that was cut is refused."""
    read: MaybeFile = None
    """The file that `points` were read from. Where it is not `file`, that is read."""
    points: list[Annotated[tuple[Probability, Probability], Strict(False)]] = Field(min_length=1)
    """Points of the quantile function, from 0 % to 100 %: cumulative fraction and probability."""


class SessionDistribution(_Distribution):
    """Leaves a time after its arrival that it draws, whether it has the file or not."""

    suffix: ClassVar[str] = "session"
    quantity: ClassVar[type[Quantity]] = Span
    words: ClassVar[tuple[str, ...]] = ("session", "stay", "duration", "length", "value", "time")

    kind: Literal["session"] = "session"
    file: MaybeFile = None
    """A CSV file, its path relative to the study."""
    rows: MaybeCount = None
    """How many rows of data the file has: one that was cut is refused."""
    read: MaybeFile = None
    """The file that `points` were read from. Where it is not `file`, that is read."""
    points: list[Annotated[tuple[Probability, Span], Strict(False)]] = Field(min_length=1)
    """Points of the quantile function, from 0 % to 100 %: cumulative fraction and length."""


def read_points(
    name: str,
    files: Files,
    suffix: str,
    quantity: type[Quantity],
    words: Sequence[str] = (),
    rows: int | None = None,
) -> list[tuple[Share, Quantity]]:
    """Reads a distribution: a shipped name, or a two-column CSV file.

    The file's header names the columns and, in brackets, the unit of the second, as in
    `cumulative fraction,RTT [ms]`. Lines that begin with `#` are comments.

    Args:
        name: as the study has it.
        files: where files are, and where doubts go.
        suffix: which distributions ship.
        quantity: of what kind the second column is.
        words: what it is called where its meaning is clear.
        rows: how many rows the study says that it has.

    Raises:
        UnitError: it cannot be read, or is none; the hint names file, line and value.
    """
    path = DATA / f"{name}-{suffix}.csv" if name in shipped(suffix) else files.directory / name
    try:
        file = data_file(path, MOST_POINTS)
    except UnitError:
        raise
    except (OSError, ValueError) as error:
        ships = f"a distribution that ships ({one_of(shipped(suffix))}) or " * bool(shipped(suffix))
        allowed = f"{ships}a CSV file"
        hint = did_you_mean(name, shipped(suffix)) or f"cannot read {path}: {unread(error)}"
        raise UnitError(allowed, hint) from None
    first, second = _columns(file, quantity)
    scale = Fraction(1, 100) if first.unit == "%" else Fraction(1)
    points = [_point(file, row, scale, second.unit or "", quantity) for row in file.rows[1:]]
    file.judge_end(files, len(points), rows, known=True)
    file.doubt_column(files, first, _FRACTIONS, "cumulative fractions")
    if words:
        file.doubt_column(files, second, words, f"{suffix} values")
    return points


def _columns(file: DataFile, quantity: type[Quantity]) -> list[Column]:
    columns = file.columns()
    units = [column.unit for column in columns]
    if len(units) == 2 and units[0] in (None, "1", "%") and units[1] in quantity.units:
        return columns
    example = f"cumulative fraction,value [{quantity.usual[0]}]"
    # The hint does not quote the file: a study from the web may name a file of secrets.
    hint = f"{file.path} begins with another" if file.rows else f"{file.path} has no lines"
    hint = f"{hint}; {other}" if (other := file.separator()) else hint
    raise UnitError(f'a first line as in "{example}"', hint)


def _point(
    file: DataFile, row: Row, scale: Fraction, unit: str, quantity: type[Quantity]
) -> tuple[Share, Quantity]:
    cells = file.cells(row)
    pair = [number(cell) for cell in cells]
    if len(pair) == 2 and pair[0] is not None and pair[1] is not None and pair[0] * scale <= 1:
        try:
            return Share.measured(pair[0] * scale * 100, "%"), quantity.measured(pair[1], unit)
        except UnitError as error:
            raise UnitError(error.allowed, file.place(row)) from None
    most = "100 %" if scale != 1 else "1"
    allowed = f"two columns: a fraction between 0 and {most}, and a number"
    raise UnitError(allowed, file.place(row))
