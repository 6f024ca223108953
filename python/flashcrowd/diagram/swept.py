"""A varied setting has no single value that a drawing or a description could show."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

VARIES = "varies"

#: Settings of which a table is one value, too.
_VALUES = frozenset(
    (
        "rtt",
        "loss",
        "jitter",
        "delay",
        "up",
        "down",
        "rate",
        "up_queue",
        "down_queue",
        "queue",
        "access",
        "departure",
    )
)

#: Settings that are numbers of something.
_COUNTS = frozenset({"hosts", "flows", "users"})

#: Settings that may be missing in the file, and are something all the same where they vary.
_OPTIONAL = frozenset({"access"})

#: Settings that place something, so that a drawing shows the first of their values.
_PLACES = frozenset({"group", "at", "from", "to", "kind"})


def unfixed(study: Mapping[str, Any]) -> dict[str, Any]:
    """A resolved study with the word `VARIES` for each value that its sweep sets."""
    made = deepcopy(dict(study))
    sweep = made.get("sweep") or []
    for axis in [sweep] if isinstance(sweep, dict) else sweep:
        for path in axis:
            *names, last = path.split(".")
            table: Any = made
            for name in names:
                table = table.get(name) if isinstance(table, dict) else None
            if isinstance(table, dict) and last not in _PLACES:
                value = table.get(last)
                known = last in _VALUES or last in _COUNTS
                if isinstance(value, str) or (known and value is not None) or last in _OPTIONAL:
                    table[last] = VARIES
    return made


def counted(count: object, noun: str) -> str:
    """A number of something: "1 host", "3 hosts", "hosts vary"."""
    if count == VARIES:
        return f"{noun}s vary"
    return f"{count} {noun}{'' if count == 1 else 's'}"
