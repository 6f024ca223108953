"""How the bytes of a file are asked for: the forms of docs/protocol.md, and what HTTP has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum

from flashcrowd.download import fields
from flashcrowd.download.ranges import Run

PREFERENCE = "part-order=any"
"""RFC 7240: the client takes the parts of the file in any order (docs/protocol.md)."""
HINTS = "resident-ranges"
"""The client likes to hear what is in the server's memory."""
SPLIT = 65_536
"""Where one run of missing bytes is named as two ranges, as one may not be answered in parts."""
MOST_RANGES = 200
"""Ranges that one request names; Apache takes no more. What is left is asked for after it."""


class Form(Enum):
    """How the bytes are asked for; a server that does not take one is asked by the next."""

    ANY_ORDER = "any order"
    PULL = "one part after the other"
    HINTS = "hinted ranges"
    RANGES = "ranges"
    WHOLE = "whole"


FIRST = Form.ANY_ORDER
"""The form in which a server that knows the preference is asked."""
LADDER = list(Form)


def in_two(runs: list[Run]) -> list[tuple[int, int | None]]:
    """Runs, of which one alone is named as two."""
    if len(runs) > 1 or runs[0][1] - runs[0][0] < 2:
        return list(runs)
    start, end = runs[0]
    middle = start + min(SPLIT, (end - start) // 2)
    return [(start, middle), (middle, end)]


def applied(said: Mapping[str, str]) -> bool:
    """Whether the server has chosen the order."""
    return PREFERENCE in fields.words(said, "preference-applied")


def range_of(runs: Sequence[tuple[int, int | None]]) -> str:
    """The value of Range."""
    return "bytes=" + ",".join(f"{low}-{'' if high is None else high - 1}" for low, high in runs)
