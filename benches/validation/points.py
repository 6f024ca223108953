"""The comparisons of `points.toml`, read and checked."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

POINTS = Path(__file__).with_name("points.toml")

Verdict = Literal["agrees", "differs", "not compared"]


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Change(_Entry):
    """A change of the rules that moved numbers.

    Attributes:
        name: what `after` names.
        date: when it came.
        rules: the groups of rules that it changed.
        what: the new rule.
    """

    name: str
    date: date
    rules: tuple[str, ...]
    what: str


class Simulated(_Entry):
    """Numbers of a simulation, and the rules behind them.

    Attributes:
        after: the newest change that they have; empty if none.
        rules: the groups of rules that they depend on.
    """

    after: str | None = None
    rules: tuple[str, ...] = ()


class Point(Simulated):
    """A comparison with something that is not ours.

    Attributes:
        what: what was simulated.
        measure: the number that was compared.
        against: the other side, with its version.
        held: the command that repeats the comparison; it never gets old.
        real: when the other side was measured.
        runs: of the other side, and simulated.
        percent: (simulated - real) / real, least and most.
        result: what came out, if not a percentage.
        verdict: given with `result`; follows from `percent`.
    """

    what: str
    measure: str
    against: str
    held: str = ""
    real: date | None = None
    runs: tuple[int, int] | None = None
    percent: tuple[float, float] | None = None
    result: str = ""
    verdict: Verdict | None = None

    @model_validator(mode="after")
    def _complete(self) -> Self:
        if (self.percent is None) != bool(self.result and self.verdict):
            raise ValueError("either percent, or result and verdict")
        if self.verdict != "not compared" and bool(self.held) == bool(self.real):
            raise ValueError("either held, or real with runs, after and rules")
        if self.real and (self.runs is None or self.after is None or not self.rules):
            raise ValueError("real needs runs, after and rules")
        return self

    @property
    def largest(self) -> float | None:
        """The largest difference in percent, with its sign."""
        return max(self.percent, key=abs) if self.percent else None


class Model(_Entry):
    """A model, and all that it was compared with.

    Attributes:
        readme: whether it has a row in README.
        details: a page, and a place in it, that tells more.
    """

    name: str
    details: str
    points: tuple[Point, ...] = Field(min_length=1)
    readme: bool = False


class Table(Simulated):
    """A table of a page with simulated numbers.

    Attributes:
        page: the page.
        what: which of its tables.
        made: when a command last wrote it; `None` if none writes it.
    """

    page: str
    what: str
    made: date | None = None


class Validation(_Entry):
    """All of `points.toml`.

    Attributes:
        limit: a difference of so many percent still agrees.
        change: oldest first.
    """

    limit: float
    change: tuple[Change, ...]
    model: tuple[Model, ...]
    table: tuple[Table, ...]

    @model_validator(mode="after")
    def _named(self) -> Self:
        names = {"", *(it.name for it in self.change)}
        simulated = [*self.table, *(point for it in self.model for point in it.points)]
        if wrong := {it.after for it in simulated if it.after is not None} - names:
            raise ValueError(f"after: there is no change {', '.join(sorted(wrong))}")
        return self

    def since(self, simulated: Simulated) -> Sequence[Change]:
        """The changes of its rules that numbers of a simulation do not have."""
        if simulated.after is None:
            return []
        names = [it.name for it in self.change]
        first = names.index(simulated.after) + 1 if simulated.after else 0
        return [it for it in self.change[first:] if set(it.rules) & set(simulated.rules)]

    def verdict(self, point: Point) -> Verdict:
        """Whether a comparison agrees."""
        largest = point.largest
        if largest is None:
            return point.verdict or "not compared"
        return "agrees" if abs(largest) <= self.limit else "differs"


def read(path: Path = POINTS) -> Validation:
    """The comparisons of a file.

    Raises:
        pydantic.ValidationError: an entry is incomplete, or names what there is not.
    """
    return Validation.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))


def made(page: str, what: str, today: date, path: Path = POINTS) -> None:
    """Notes that a table was written today, by all of today's rules.

    Raises:
        KeyError: the file has no such table.
    """
    data = read(path)
    head = f'[[table]]\npage = "{page}"\nwhat = "{what}"\n'
    before, found, rest = path.read_text(encoding="utf-8").partition(head)
    if not found:
        raise KeyError(f"{page}: {what}")
    kept = re.sub(r"\A(?:(?:made|after) = .*\n)*", "", rest)
    stamp = f'made = {today.isoformat()}\nafter = "{data.change[-1].name}"\n'
    path.write_text(before + head + stamp + kept, encoding="utf-8")
