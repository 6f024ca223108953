"""Building blocks of the tables in a scenario file."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    StringConstraints,
    ValidationError,
    ValidatorFunctionWrapHandler,
)
from pydantic_core import CoreSchema, core_schema

from flashcrowd.base.errors import did_you_mean, is_plain, visible
from flashcrowd.base.units import Quantity, QuantityT, Rate, Share, Size, Span, UnitError


class Table(BaseModel):
    """A table of the file: unknown keys are mistakes, and nothing is converted silently."""

    model_config = ConfigDict(
        defer_build=True,  # a command builds the tables that it reads
        extra="forbid",
        strict=True,
        frozen=True,
        allow_inf_nan=False,
        validate_by_name=True,
        validate_by_alias=True,
    )


def _plain_text(breaks: str) -> AfterValidator:
    """A validator that refuses characters which control a terminal or a reader of the text."""

    def check(text: str) -> str:
        for place, char in enumerate(text, 1):
            if not is_plain(char) and char not in breaks:
                name = unicodedata.name(char, "a control character").lower()
                raise UnitError(
                    "a text without control characters" + ("" if breaks else ", in one line"),
                    f"character {place} is {visible(char)}, {name}",
                )
        return text

    return AfterValidator(check)


one_line = _plain_text("")
"""For a text in one line: what a person calls something."""
any_lines = _plain_text("\n\t")
"""For a text of any number of lines."""

NAME = r"^[A-Za-z][A-Za-z0-9_-]*$"
Name = Annotated[str, StringConstraints(pattern=NAME, max_length=60)]
"""What a person calls a group, a link, a workload: letters, digits, "-" and "_"."""


@dataclass(frozen=True)
class Word:
    """Makes a word in the file stand for Python's `None`, since TOML has no null.

    Attributes:
        word: the word; "none" is another writing of it.
        instead: what to write instead of "none", where "none" could mean its opposite.
    """

    word: str
    instead: str = ""

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        """Reads the word (or "none") as `None` and writes `None` as the word."""
        return core_schema.no_info_wrap_validator_function(
            self._read,
            handler(source),
            serialization=core_schema.wrap_serializer_function_ser_schema(
                lambda value, inner: self.word if value is None else inner(value),
            ),
        )

    def _read(self, given: Any, inner: ValidatorFunctionWrapHandler) -> Any:
        if self.instead and given == "none":
            raise UnitError(f'{Rate.phrase()}, or "{self.word}"', f"did you mean {self.instead}?")
        if given in (self.word, "none"):
            return inner(None)
        try:
            return inner(given)
        except ValidationError as error:
            (first, *others) = error.errors()
            cause = first.get("ctx", {}).get("error")
            if others or first["loc"] or not isinstance(cause, UnitError):
                raise
            hint = did_you_mean(given, [self.word]) if isinstance(given, str) else ""
            allowed = f'{cause.allowed}, or "{self.word}"'
            raise UnitError(allowed, hint or cause.hint, cause.key) from None

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, object]:
        """The word, or what else is allowed."""
        inner = handler(schema)
        options = [item for item in inner.get("anyOf", [inner]) if item != {"type": "null"}]
        words = {self.word} if self.instead else {self.word, "none"}
        return {"anyOf": [{"enum": sorted(words)}, *options]}


def positive(value: QuantityT) -> QuantityT:
    """Refuses zero."""
    if not value:
        raise UnitError(f"{value.noun} of more than zero")
    return value


def at_most_all(value: Share) -> Share:
    """Refuses more than 100 %."""
    if value.amount > 1:
        raise UnitError("a share between 0 % and 100 %")
    return value


@dataclass(frozen=True)
class Within:
    """Quantities between bounds: `ge` and `le` are included, `gt` is not."""

    ge: Quantity | None = None
    le: Quantity | None = None
    gt: Quantity | None = None

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        """Refuses what lies outside."""
        return core_schema.no_info_after_validator_function(self._checked, handler(source))

    def _checked(self, value: Any) -> Any:
        if not self.holds(value):
            raise UnitError(f"{value.noun} {self.phrase()}")
        return value

    def holds(self, value: Any) -> bool:
        """Whether a quantity lies between the bounds."""
        above = self.gt is None or value > self.gt
        return above and not (self.ge and value < self.ge) and not (self.le and value > self.le)

    def phrase(self) -> str:
        """What is allowed, after the noun."""
        if self.ge is not None and self.le is not None:
            return f"between {self.ge} and {self.le}"
        words = {"at least": self.ge, "more than": self.gt, "at most": self.le}
        return "of " + " and ".join(f"{word} {it}" for word, it in words.items() if it is not None)


def within(low: QuantityT, high: QuantityT) -> Within:
    """A validator for quantities between two others of the same kind, both included."""
    return Within(low, high)


LONGEST_DELAY = Span("10 min")
"""Longer delays on a network are a mistake."""

DelaySpan = Annotated[Span, within(Span("0 ms"), LONGEST_DELAY)]
Interval = Annotated[Span, within(Span("1 ms"), Span("1 d"))]
"""Time between two samples or two pings."""
PacketSize = Annotated[Size, within(Size("28 B"), Size("65535 B"))]
"""Size of an IP packet that carries a datagram."""
MaybeInterval = Annotated[Interval | None, Word("none")]
PositiveSpan = Annotated[Span, AfterValidator(positive)]
PositiveSize = Annotated[Size, AfterValidator(positive)]
Probability = Annotated[Share, AfterValidator(at_most_all)]
MaybeSpan = Annotated[Span | None, Word("none")]
MaybePositiveSpan = Annotated[PositiveSpan | None, Word("none")]
MaybeSize = Annotated[PositiveSize | None, Word("none")]
PositiveRate = Annotated[Rate, AfterValidator(positive)]
MaybeRate = Annotated[PositiveRate | None, Word("unlimited", instead='"unlimited"')]
"""A rate of more than zero, or none for no limit."""
UploadRate = Annotated[
    Rate | None, Word("unlimited", instead='"unlimited", or "0 B/s" for no upload at all')
]
"""The same for a client's uploads, which may be none at all: zero."""
Count = Annotated[int, Field(ge=1, le=2**31)]
Natural = Annotated[int, Field(ge=0, le=2**31)]
MaybeCount = Annotated[Count | None, Word("none")]
Peers = Annotated[int, Field(ge=1, le=65535)]
"""How many peers an answer of a tracker names."""


def kind_from(default: str | None, **keys: str) -> BeforeValidator:
    """A validator that adds the `kind` which a table without one must mean.

    It is that of the first of `keys` in the table, or else `default`.
    """

    def add(given: Any) -> Any:
        if not isinstance(given, dict) or "kind" in given:
            return given
        kind = next((kind for key, kind in keys.items() if key in given), default)
        return given if kind is None else {"kind": kind, **given}

    return BeforeValidator(add, json_schema_input_type=Any)


@dataclass(frozen=True)
class Shorthand(BeforeValidator):
    """A validator that `shorthand` makes.

    Attributes:
        key: the key that a plain value is of.
    """

    key: str = ""


def shorthand(key: str, accepts: Any, **others: Any) -> Shorthand:
    """A validator that reads a plain value as the table `{key: value, **others}`.

    `accepts` is the type of what may be written, for the JSON Schema.
    """

    def expand(given: Any) -> Any:
        plain = given is not None and not isinstance(given, dict | BaseModel)
        return {**others, key: given} if plain else given

    return Shorthand(expand, accepts, key)
