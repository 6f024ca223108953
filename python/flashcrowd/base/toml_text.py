"""TOML from people: bounded before it is read, as Python's reader takes what it is given.

For a key of n dotted parts that reader needs n² of time and memory: minutes for a file of 200 kB.
"""

from __future__ import annotations

import re
import tomllib
from typing import Any

from flashcrowd.base.errors import Problem

DEEPEST = 50
"""The depth to which tables and lists may nest. A study needs eight levels."""
_TOO_LONG = 10**4300

_KEY = r"""(?>[A-Za-z0-9_-]++|"(?:[^"\\\n]|\\.)*+"|'[^'\n]*+')"""
_DEEP_KEY = re.compile(
    rf"(?:^|[\[{{,])[ \t]*+(?>{_KEY}[ \t]*+\.[ \t]*+){{{DEEPEST}}}", re.MULTILINE
)


class TooDeep(ValueError):
    """Tables or lists stand deeper in each other than `DEEPEST`."""


class TooLong(ValueError):
    """A whole number has more digits than Python takes, or shows: one to base 16, 8 or 2."""


def loads(text: str) -> dict[str, object]:
    """The document of a text.

    Raises:
        TooDeep: something stands too deep in it.
        TooLong: a number in it is too long.
        tomllib.TOMLDecodeError: it is no TOML.
    """
    if _DEEP_KEY.search(text):
        raise TooDeep
    try:
        document = tomllib.loads(text)
    except RecursionError:
        raise TooDeep from None
    except tomllib.TOMLDecodeError:
        raise
    except ValueError:  # Python's limit for a whole number as text
        raise TooLong from None
    _bounded(document)
    return document


def unfit(error: TooDeep | TooLong, place: str) -> Problem:
    """The problem of TOML that is deeper, or has a longer number, than any study needs."""
    if isinstance(error, TooLong):
        return Problem(place, "longer", "whole numbers of at most 4300 digits")
    allowed = f"tables and lists at most {DEEPEST} deep in each other"
    return Problem(place, "deeper", allowed)


def _bounded(document: Any) -> None:
    """Refuses what stands too deep in it, or is too long; by levels, not by calls."""
    level = [document]
    for _ in range(DEEPEST + 1):
        tables = (it.values() if isinstance(it, dict) else it for it in level)
        values = [value for table in tables for value in table]
        if any(isinstance(it, int) and abs(it) >= _TOO_LONG for it in values):
            raise TooLong
        level = [it for it in values if isinstance(it, dict | list)]
        if not level:
            return
    raise TooDeep
