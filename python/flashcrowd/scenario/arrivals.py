"""When peers come, and until when they stay: in words, at given instants, or from a file."""

from __future__ import annotations

import itertools
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BeforeValidator,
    Discriminator,
    Field,
    Strict,
    StringConstraints,
    model_validator,
)

from flashcrowd.base.units import Span, UnitError
from flashcrowd.scenario.arrival_file import read_arrivals
from flashcrowd.scenario.distribution import MaybeFile
from flashcrowd.scenario.fields import (
    MaybeCount,
    MaybePositiveSpan,
    MaybeSpan,
    PositiveSpan,
    Table,
    kind_from,
    one_line,
    shorthand,
)
from flashcrowd.scenario.files import Files, as_many, rows_said

Source = Annotated[str, StringConstraints(max_length=300), one_line]
"""The path of a file that was read."""

LEAST_PER_HOUR = 0.01
"""A lower mean rate of arrivals is a mistake: the last of the peers would come after years."""


class FlashCrowd(Table):
    """All come together, each at a random instant of a window."""

    kind: Literal["flash-crowd"] = "flash-crowd"
    start: Span = Span("0 s")
    """Begin of the window."""
    spread: Span = Span("10 s")
    """Length of the window; "0 s" for exactly together."""


class Poisson(Table):
    """One after another, with exponential gaps."""

    kind: Literal["poisson"] = "poisson"
    start: Span = Span("0 s")
    """Begin; the first peer comes one gap later."""
    gap: PositiveSpan
    """Mean gap between two arrivals."""


class Times(Table):
    """At given instants, one for each host; each may have an end to its stay."""

    kind: Literal["times"] = "times"
    file: MaybeFile = None
    """A CSV file with a line for each host, its path relative to the study. Its content is in the
    resolved study as `at` and `leave`.
    """
    rows: MaybeCount = None
    """How many rows of data the file has: one that was cut is refused."""
    source: Source = ""
    """The file from which the instants were read."""
    at: list[Span]
    """The instants, in the order of the hosts."""
    leave: list[MaybeSpan] = Field(default_factory=list)
    """When each leaves at the latest, with the file or without it; "none" for one that stays as its
    departure says. As many as `at`, or none at all."""

    @model_validator(mode="after")
    def _lasting(self) -> Self:
        as_many(self.rows, len(self.at), "instants")
        if self.leave and len(self.leave) != len(self.at):
            raise UnitError(
                f"one instant for each of the {len(self.at)} arrivals, or no instants at all",
                f"there are {len(self.leave)}",
                key="leave",
            )
        for number, (at, leave) in enumerate(zip(self.at, self.leave, strict=False), 1):
            if leave is not None and leave <= at:
                hint = f"number {number} comes at {at} and leaves at {leave}"
                raise UnitError("instants after those of the arrivals", hint, key="leave")
        return self


class Rates(Table):
    """One after another, at a rate that changes with time, as from hour to hour of a day."""

    kind: Literal["rates"] = "rates"
    file: MaybeFile = None
    """A CSV file of instants and rates, its path relative to the study. Its content is in the
    resolved study as `per_hour`.
    """
    rows: MaybeCount = None
    """How many rows of data the file has: one that was cut is refused."""
    source: Source = ""
    """The file from which the rates were read."""
    per_hour: Annotated[
        list[Annotated[tuple[Span, float], Strict(False)]], Field(min_length=1, max_length=100_000)
    ]
    """Instants from the start of the run, the first "0 s", and how many peers come in an hour from
    there on, on average."""
    period: MaybePositiveSpan = None
    """After this time the rates begin again, as after "24 h"; "none" if the last one holds on."""

    @model_validator(mode="after")
    def _coming(self) -> Self:
        as_many(self.rows, len(self.per_hour), "rates")
        instants = [at for at, _ in self.per_hour]
        rates = [rate for _, rate in self.per_hour]
        if instants[0]:
            raise UnitError('a first instant of "0 s"', f"it is {instants[0]}", key="per_hour")
        for before, after in itertools.pairwise(instants):
            if after <= before:
                raise UnitError("instants that rise", f"{after} follows {before}", key="per_hour")
        if min(rates) < 0:
            raise UnitError("rates of zero or more", key="per_hour")
        if self.period is None:
            if rates[-1] < LEAST_PER_HOUR:
                hint = 'a last rate of zero keeps peers from coming; say `period = "24 h"`?'
                allowed = f"a last rate of at least {LEAST_PER_HOUR}, for it holds on"
                raise UnitError(allowed, hint, key="per_hour")
            return self
        if self.period <= instants[-1] or self.period < Span("1 s"):
            allowed = f"a time after the last instant, {instants[-1]}, and of at least 1 s"
            raise UnitError(allowed, key="period")
        ends = [*instants[1:], self.period]
        hours = self.period.seconds / 3600
        pairs = zip(self.per_hour, ends, strict=True)
        mean = sum(r * (end.seconds - at.seconds) / 3600 for (at, r), end in pairs) / hours
        if mean < LEAST_PER_HOUR:
            raise UnitError(f"at least {LEAST_PER_HOUR} peers an hour on average", key="per_hour")
        return self


class _FromFile(Table):
    """As a file says: `times` or `rates`, by what its header says."""

    file: str
    """A CSV file, its path relative to the study."""
    rows: MaybeCount = None
    """How many rows of data it has."""
    period: MaybePositiveSpan = None
    """For rates, the time after which they begin again."""


def _read(given: Any, info: Any) -> Any:
    """The content of a file, with its kind."""
    if not isinstance(given, dict) or not isinstance(given.get("file"), str):
        return given
    if given["file"] == "none":
        return given
    own = {"at", "leave", "per_hour"} & given.keys()
    if own and not given.get("source"):
        raise UnitError("a file, or arrivals of one's own", "not both", key="file")
    found = read_arrivals(given["file"], Files.of(info), rows_said(given))
    kind = given.get("kind", found["kind"])
    if kind != found["kind"] and not own:
        allowed = f'"{found["kind"]}", for that is what the file holds'
        raise UnitError(allowed, "leave `kind` out", key="kind")
    rest = {key: value for key, value in given.items() if key not in own}
    return {**rest, "file": None, "source": given["file"], **found}


ArrivalTable = Annotated[FlashCrowd | Poisson | Times | Rates, Discriminator("kind")]
Arrivals = Annotated[
    ArrivalTable,
    kind_from("flash-crowd", gap="poisson", at="times", per_hour="rates"),
    shorthand("kind", ArrivalTable | Literal["flash-crowd"]),
    BeforeValidator(
        _read, json_schema_input_type=ArrivalTable | _FromFile | Literal["flash-crowd"]
    ),
]
