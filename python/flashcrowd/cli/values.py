"""Values as people write them on a command line."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from typing import Any

from cyclopts import Token

from flashcrowd.errors import Problem, StudyError


def whole(kind: Any, tokens: Sequence[Token]) -> int:
    """A whole number as it stands: 1.5 is none, and nothing is rounded."""
    text = tokens[0].value.strip()
    if not re.fullmatch(r"[+-]?[0-9]{1,19}", text):
        raise ValueError(f'a whole number is needed, not "{text}"')
    return int(text)


def often(kind: Any, tokens: Sequence[Token]) -> int | str:
    """How often to repeat: a whole number, or a text as a study has it, "until 2 %"."""
    text = tokens[0].value.strip()
    if text.startswith("until"):
        return text
    try:
        return whole(kind, tokens)
    except ValueError as error:
        raise ValueError(f'{error}; or "until 2 %"') from None


def assignments(settings: Sequence[str]) -> dict[str, Any]:
    """The values of `--set` by path.

    Raises:
        StudyError: one of them is no `path=value`.
    """
    parsed = {text: assignment(text) for text in settings}
    problems = [
        Problem("--set", text, "dotted.path=value", "as in --set network.rtt='50 ms'")
        for text, pair in parsed.items()
        if pair is None
    ]
    if problems:
        raise StudyError(problems, "command line")
    return dict(pair for pair in parsed.values() if pair is not None)


def assignment(text: str) -> tuple[str, Any] | None:
    """`path=value` from the command line; `None` if it is not one.

    The value is read as TOML where it is TOML (`true`, `3`, `"5 %"`, `["a", "b"]`), else as a text.
    """
    path, equals, value = text.partition("=")
    if not equals or not path.strip():
        return None
    try:
        parsed = tomllib.loads(f"value = {value}")
    except (tomllib.TOMLDecodeError, RecursionError):
        parsed = {"value": value.strip()}
    return path.strip(), parsed["value"] if set(parsed) == {"value"} else value.strip()
