"""What was lowered before: scenarios of one sweep share tables, and each is lowered once."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

MOST_WEIGHT = 20_000
"""What is kept together has at most this weight: hosts, or other objects of their size. A host with
its access line takes 2 kB."""


class Kept:
    """Results by the table of which they were made: the same object, not an equal one.

    What is kept is shared by several plans, so nobody changes it.
    """

    def __init__(self) -> None:
        self._results: dict[tuple[Any, int], tuple[Any, Any]] = {}
        self._light: dict[tuple[Any, int], tuple[Any, Any]] = {}
        self._texts: dict[int, str] = {}
        self._weight = 0

    def made(self, make: Callable[..., Any], table: Any, *more: Any, weight: int = 1) -> Any:
        """`make(table, *more)`, which must depend on nothing but the table.

        What has no weight is kept as long as this object.
        """
        known = self._results.get((make, id(table))) or self._light.get((make, id(table)))
        if known is not None:
            return known[1]
        if not weight:
            return self._light.setdefault((make, id(table)), (table, make(table, *more)))[1]
        self._weight += weight
        if self._weight > MOST_WEIGHT:
            self._results.clear()
            self._texts.clear()
            self._weight = weight
        result = make(table, *more)
        # Both stay, so that nothing else has the number by which they are known.
        self._results[make, id(table)] = (table, result)
        self._texts[id(result)] = ""
        return result

    def text(self, part: Any) -> str:
        """A part of a plan as JSON, kept where the part is."""
        text = self._texts.get(id(part))
        if text is None:
            return as_json(part)
        if not text:
            text = self._texts[id(part)] = as_json(part)
        return text


_encoder = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def as_json(part: Any) -> str:
    """JSON without spaces."""
    return _encoder.encode(part)
