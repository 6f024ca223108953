"""A cache of what is made of tables: scenarios of one sweep share tables and their results."""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from flashcrowd import _core

T = TypeVar("T")
H = TypeVar("H", bound=Hashable)

MOST_WEIGHT = 20_000
"""The cache has at most this weight: hosts, or other objects of their size. A host with its access
line takes 2 kB.
"""


def _one(result: Any) -> int:
    return 1


class Kept:
    """Results by the tables of which they were made: the same objects, not equal ones.

    Several plans share the kept value: it must not be changed.

    Attributes:
        parsed: the last plan, whose parts need not be read again.
    """

    def __init__(self) -> None:
        self.parsed: _core.Plan | None = None
        self._results: dict[tuple[Any, ...], tuple[Any, Any]] = {}
        self._light: dict[tuple[Any, ...], tuple[Any, Any]] = {}
        self._texts: dict[int, str] = {}
        self._values: dict[Any, Any] = {}
        self._weight = 0

    def made(self, make: Callable[..., T], *tables: Any, weight: Callable[[T], int] = _one) -> T:
        """`make(*tables)`, a part of a plan, which must depend on nothing but these tables."""
        key = (make, *map(id, tables))
        known = self._results.get(key)
        if known is not None:
            return known[1]
        result = make(*tables)
        self._weight += weight(result)
        if self._weight > MOST_WEIGHT:
            self._results.clear()
            self._texts.clear()
            self._weight = weight(result)
        # The tables stay, so that nothing else has the numbers by which they are known.
        self._results[key] = (tables, result)
        self._texts[id(result)] = ""
        return result

    def found(self, find: Callable[..., T], *tables: Any) -> T:
        """The same for what has no weight: it is kept as long as this object."""
        key = (find, *map(id, tables))
        known = self._light.get(key)
        if known is None:
            known = self._light[key] = (tables, find(*tables))
        return known[1]

    def same(self, value: H) -> H:
        """The first of all equal values, so that what is made of it is found again."""
        return self._values.setdefault(value, value)

    def text(self, part: Any) -> str:
        """A part of a plan as JSON, kept where the part is."""
        if isinstance(part, str | int):
            return _scalar(part)
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


_scalar = lru_cache(maxsize=16, typed=True)(as_json)
