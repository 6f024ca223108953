"""Empirical distributions: round-trip time and loss for pairs of hosts, sessions for peers."""

from __future__ import annotations

import csv
import itertools
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, Strict, ValidationInfo, model_validator

from flashcrowd.errors import did_you_mean, one_of
from flashcrowd.scenario.fields import DelaySpan, Probability, Table, Word
from flashcrowd.scenario.text_file import text_of
from flashcrowd.units import Quantity, Share, Span, UnitError

DATA = Path(__file__).parent / "data"

MaybeFile = Annotated[str | None, Word("none")]


def shipped(suffix: str) -> list[str]:
    """Names of the distributions that ship, for the quantity `suffix` ("rtt" or "loss")."""
    return sorted(path.stem.removesuffix(f"-{suffix}") for path in DATA.glob(f"*-{suffix}.csv"))


class _Distribution(Table):
    """Quantile points: below `value` lies `fraction` of all; straight lines between them."""

    suffix: ClassVar[str]
    quantity: ClassVar[type[Quantity]]

    @model_validator(mode="before")
    @classmethod
    def _read_file(cls, given: Any, info: ValidationInfo) -> Any:
        if not isinstance(given, dict) or "points" in given or not given.get("file"):
            return given
        directory = (info.context or {}).get("directory", Path())
        return {**given, "points": read_points(given["file"], directory, cls.suffix, cls.quantity)}

    @model_validator(mode="after")
    def _rising(self) -> Self:
        points: list[tuple[Quantity, Quantity]] = getattr(self, "points", [])
        pairs = [(fraction.amount, value.amount) for fraction, value in points]
        for before, after in itertools.pairwise(pairs):
            if not (before[0] <= after[0] and before[1] <= after[1]):
                raise UnitError("points whose fractions and values both rise", key="points")
        return self


class RttDistribution(_Distribution):
    """Each pair of hosts draws its round-trip time, half of it for each direction."""

    suffix: ClassVar[str] = "rtt"
    quantity: ClassVar[type[Quantity]] = Span

    kind: Literal["distribution"] = "distribution"
    file: MaybeFile = None
    """A distribution that ships ("iplane") or a CSV file, its path relative to the study. Read only
    where `points` are not given."""
    points: list[Annotated[tuple[Probability, DelaySpan], Strict(False)]] = Field(min_length=1)
    """Points of the quantile function: cumulative fraction and round-trip time."""


class LossDistribution(_Distribution):
    """Each pair of hosts draws the loss probability of both its directions."""

    suffix: ClassVar[str] = "loss"
    quantity: ClassVar[type[Quantity]] = Share

    kind: Literal["distribution"] = "distribution"
    file: MaybeFile = None
    """A distribution that ships ("iplane") or a CSV file, its path relative to the study. Read only
    where `points` are not given."""
    points: list[Annotated[tuple[Probability, Probability], Strict(False)]] = Field(min_length=1)
    """Points of the quantile function: cumulative fraction and loss probability."""


class SessionDistribution(_Distribution):
    """Leaves a time after its arrival that it draws, whether it has the file or not."""

    suffix: ClassVar[str] = "session"
    quantity: ClassVar[type[Quantity]] = Span

    kind: Literal["session"] = "session"
    file: MaybeFile = None
    """A CSV file, its path relative to the study. Read only where `points` are not given."""
    points: list[Annotated[tuple[Probability, Span], Strict(False)]] = Field(min_length=1)
    """Points of the quantile function: cumulative fraction and length of a session."""


def read_points(
    name: str, directory: Path, suffix: str, quantity: type[Quantity]
) -> list[tuple[str, str]]:
    """Reads a distribution: a shipped name, or a two-column CSV file.

    The file's header names the columns and, in brackets, the unit of the second, as in
    `cumulative fraction,RTT [ms]`. Lines that begin with `#` are comments.
    """
    path = DATA / f"{name}-{suffix}.csv" if name in shipped(suffix) else directory / name
    try:
        lines = text_of(path).splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text"
        ships = f"a distribution that ships ({one_of(shipped(suffix))}) or " * bool(shipped(suffix))
        allowed = f"{ships}a CSV file"
        hint = did_you_mean(name, shipped(suffix)) or f"cannot read {path}: {reason}"
        raise UnitError(allowed, hint) from None
    numbered = [(n, line) for n, line in enumerate(lines, 1) if line and not line.startswith("#")]
    rows = [(n, next(csv.reader([line]))) for n, line in numbered]
    unit = _unit(rows, path, quantity)
    return [_point(row, unit, f"{path} line {n}", quantity) for n, row in rows[1:]]


def _unit(rows: list[tuple[int, list[str]]], path: Path, quantity: type[Quantity]) -> str:
    header = rows[0][1] if rows else []
    unit = header[-1].partition("[")[2].rstrip("] ") if len(header) == 2 else ""
    if unit not in quantity.units:
        example = f"cumulative fraction,value [{quantity.usual[0]}]"
        raise UnitError(f'a first line as in "{example}"', f"{path} begins with another")
    return unit


def _point(row: list[str], unit: str, place: str, quantity: type[Quantity]) -> tuple[str, str]:
    try:
        fraction, value = (cell.strip() for cell in row)
        point = Share.of(Share(f"{fraction} %").amount * 100), quantity(f"{value} {unit}")
    except ValueError:
        raise UnitError(
            "two columns: a fraction between 0 and 1, and a number",
            f"{place} has {','.join(row)!r}",
        ) from None
    return str(point[0]), str(point[1])
