"""Values out of a client's JSON: of the kind that is needed, or the answer is garbage."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flashcrowd.client_api.client import Gone

_MOST = 2**53
"""Up to here every implementation of JSON keeps whole numbers (RFC 8259, section 6)."""
_NAMED = 40
"""Letters of a client's name that are shown."""


def mapping(value: Any, what: str) -> dict[str, object]:
    """An object.

    Raises:
        Gone: it is none.
    """
    if not isinstance(value, dict):
        raise Gone(f"garbage: {what} is no object")
    return value


def whole(values: Mapping[str, object], name: str) -> int:
    """A number from 0 on; some versions write whole numbers with a point.

    Raises:
        Gone: it is none.
    """
    value = values.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Gone(f"garbage: {name} is no number")
    if not 0 <= value <= _MOST:  # NaN is not, either
        raise Gone(f"garbage: {name} is out of bounds")
    return int(value)


def flag(values: Mapping[str, object], name: str) -> bool:
    """True or false.

    Raises:
        Gone: it is neither.
    """
    value = values.get(name)
    if not isinstance(value, bool):
        raise Gone(f"garbage: {name} is neither true nor false")
    return value


def plain(text: str) -> str:
    """A client's own name, fit for a terminal: its first printable characters."""
    return "".join(letter for letter in text if letter.isprintable())[:_NAMED]
