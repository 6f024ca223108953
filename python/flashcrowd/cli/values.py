"""Values as people write them on a command line."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from typing import Any

from cyclopts import Parameter, Token, validators

from flashcrowd.base import toml_text
from flashcrowd.base.errors import Problem, StudyError, quoted


def whole(kind: Any, tokens: Sequence[Token]) -> int:
    """A whole number as it stands: 1.5 is none, and nothing is rounded."""
    text = tokens[0].value.strip()
    if not re.fullmatch(r"[+-]?[0-9]{1,19}", text):
        raise ValueError("a whole number")
    return int(text)


def wholes(kind: Any, tokens: Sequence[Token]) -> list[int]:
    """As `whole`, of an option that may be repeated."""
    return [whole(kind, [token]) for token in tokens]


def from_on(
    least: int, help: str | None = None, most: int | None = None, names: Sequence[str] = ()
) -> Parameter:
    """An option that is a whole number, `least` or more, and not above `most`."""
    bounds = validators.Number(gte=least, lte=most)
    return Parameter(name=names or None, help=help, validator=bounds, converter=whole)


def often(kind: Any, tokens: Sequence[Token]) -> int | str:
    """How often to repeat: a whole number, or a text as a study has it, "until 2 %"."""
    text = tokens[0].value.strip()
    if text.startswith("until"):
        return text
    try:
        return whole(kind, tokens)
    except ValueError as error:
        raise ValueError(f'{error}; or "until 2 %"') from None


def assignments(settings: Sequence[str]) -> dict[str, object]:
    """The values of `--set` by path.

    Raises:
        StudyError: one of them is no `path=value`.
    """
    problems: list[Problem] = []
    parsed: dict[str, object] = {}
    for text in settings:
        try:
            pair = assignment(text)
        except (toml_text.TooDeep, toml_text.TooLong) as error:
            place, equals, _ = text.partition("=")
            problems.append(toml_text.unfit(error, quoted(f"--set {place.strip()}{equals}")[1:-1]))
            continue
        if pair is None:
            hint = "as in --set network.rtt='50 ms'"
            problems.append(Problem("--set", quoted(text), "dotted.path=value", hint))
        elif pair[0] in parsed:
            problems.append(Problem(f"--set {pair[0]}", quoted(text), "each path once"))
        else:
            parsed[pair[0]] = pair[1]
    if problems:
        raise StudyError(problems, "command line")
    return parsed


def assignment(text: str) -> tuple[str, Any] | None:
    """`path=value` from the command line; `None` if it is not one.

    The value is read as TOML where it is TOML (`true`, `3`, `"5 %"`, `["a", "b"]`), else as a text.

    Raises:
        TooDeep, TooLong: see `toml_text.loads`.
    """
    path, equals, value = text.partition("=")
    if not equals or not path.strip():
        return None
    if path.count(".") >= toml_text.DEEPEST:
        raise toml_text.TooDeep
    try:
        parsed = toml_text.loads(f"value = {value}")
    except tomllib.TOMLDecodeError:
        parsed = {"value": value.strip()}
    return path.strip(), parsed["value"] if set(parsed) == {"value"} else value.strip()
