"""How often each point is repeated: a fixed number, or until its mean is known well enough."""

from __future__ import annotations

import re
from typing import Annotated, Any, Self

from pydantic import BeforeValidator, Discriminator, Field, Tag, model_validator

from flashcrowd.base.looks import AT_LEAST, AT_MOST, Looks
from flashcrowd.base.units import Share, UnitError
from flashcrowd.scenario.fields import Table

MOST = 100_000
"""Most repeats of a point."""

_TEXT = re.compile(r"\s*until\s+(\S.*?)\s*")


class Until(Table):
    """Repeat until the headline's interval is narrow enough."""

    until: Share
    """Half the width of the interval, as a share of the mean, at which a point has enough runs."""
    at_least: Annotated[int, Field(ge=3, le=MOST)] = AT_LEAST
    """Runs of each point before the first look."""
    at_most: Annotated[int, Field(ge=3, le=MOST)] = AT_MOST
    """Runs after which a point ends, however wide its interval is."""

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if not 0 < self.until.amount < 1:
            raise UnitError("a share of more than 0 % and less than 100 %", key="until")
        if self.at_least > self.at_most:
            hint = f"at_most is {self.at_most}"
            raise UnitError("no more runs than `at_most`", hint, key="at_least")
        return self

    @property
    def looks(self) -> Looks:
        """The rule of stopping."""
        return Looks(self.until.value, self.at_least, self.at_most)


def _read(given: Any) -> Any:
    """The text form as its table."""
    if not isinstance(given, str):
        return given
    match = _TEXT.fullmatch(given)
    if match is None:
        allowed = 'a whole number, or until when, as in "until 2 %"'
        hint = f"write repeats = {given.strip()}" if given.strip().isdigit() else ""
        raise UnitError(allowed, hint)
    try:
        Share(match[1])
    except UnitError as error:
        hint = error.hint.replace('write "', 'write "until ')
        raise UnitError('until when, as in "until 2 %"', hint) from None
    return {"until": match[1]}


def _form(given: Any) -> str:
    return "a rule" if isinstance(given, dict | Until) else "a number"


_Number = Annotated[int, Field(ge=1, le=MOST)]
_Text = Annotated[str, Field(pattern=r"^\s*until\s")]

Repeats = Annotated[
    Annotated[_Number, Tag("a number")] | Annotated[Until, Tag("a rule")],
    Discriminator(_form),
    BeforeValidator(_read, json_schema_input_type=_Number | _Text | Until),
]
"""A number, `"until 2 %"`, or a table with `until`, `at_least` and `at_most`."""
