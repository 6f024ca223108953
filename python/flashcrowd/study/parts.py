"""The tables of a scenario that the points of a sweep share: each is validated once.

A sweep replaces few values. A table in which it replaces none is the same at every point, and one
in which it replaces some is the same wherever these have the same values. The validator takes a
table that is validated already as it is, so a point's document is validated as a whole, with
such tables in it: what is refused is what would be refused without them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel, ValidationError

from flashcrowd.base import paths
from flashcrowd.base.errors import Problem
from flashcrowd.scenario.files import Files
from flashcrowd.scenario.problems import problems_of
from flashcrowd.scenario.scenario import Scenario
from flashcrowd.study.sweep import Axis

TablePath = tuple[str, ...]
Key = tuple[TablePath, tuple[int, ...]]
"""A place, and which values the sweep has for it: the row of each axis that reaches it."""

_OF_PARTS = {
    *((root,) for root in ("network", "workloads", "stacks", "utp", "profiles", "timeline")),
    *(("network", key) for key in ("groups", "links", "paths")),
}
"""Tables whose members are parts of their own."""


class Refused(Exception):
    """A point cannot be.

    Attributes:
        problems: what is wrong; nothing if an earlier point said all of it.
    """

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__(problems)
        self.problems = problems


class Parts:
    """Makes the scenarios of a sweep from their documents."""

    def __init__(self, axes: Sequence[Axis], files: Files) -> None:
        self._swept = [[paths.parse(path) or [] for path in axis] for axis in axes]
        self._context = {"files": files}
        self._reached: dict[TablePath, tuple[int, ...]] = {}
        self._valid: dict[Key, Any] = {}
        self._refused: set[frozenset[Key]] = set()
        self._first: Scenario | None = None
        swept = dict.fromkeys(path[0] for axis in self._swept for path in axis if path)
        self._roots = [(root, self._axes_at((root,))) for root in swept]

    def known(self, rows: Sequence[int]) -> Scenario | None:
        """The scenario of a point all of whose tables are known; `None` if one is not.

        Args:
            rows: which value of each axis the point has.
        """
        if self._first is None:
            return None
        tables = {}
        for root, axes in self._roots:
            table = self._valid.get(((root,), tuple([rows[axis] for axis in axes])))
            if table is None:
                return None
            tables[root] = table
        return self._first.model_copy(update=tables)

    def scenario(self, document: dict[str, object], rows: Sequence[int]) -> Scenario:
        """The scenario that a document means.

        Args:
            document: the content of a study file with the values of one point.
            rows: which value of each axis these are.

        Raises:
            Refused: it is none.
        """
        new: list[Key] = []
        shared = {key: self._shared((key,), value, rows, new) for key, value in document.items()}
        if self._refused and frozenset(new) in self._refused:
            raise Refused(())
        try:
            made = Scenario.model_validate(shared, context=self._context)
        except ValidationError:
            self._refused.add(frozenset(new))
            raise Refused(self._problems(document)) from None
        for place, values in new:
            table = _at(made, place)
            if isinstance(table, BaseModel) or place in _OF_PARTS or len(place) == 1:
                self._valid[place, values] = table
        self._first = self._first or made
        return made

    def _shared(self, place: TablePath, given: Any, rows: Sequence[int], new: list[Key]) -> Any:
        """The value at a place, with tables in it that are validated already."""
        if not isinstance(given, dict) and len(place) > 1:
            return given
        key = (place, tuple([rows[axis] for axis in self._axes_at(place)]))
        known = self._valid.get(key)
        if known is not None:
            return known
        new.append(key)
        if not isinstance(given, dict) or place not in _OF_PARTS:
            return given
        return {name: self._shared((*place, name), it, rows, new) for name, it in given.items()}

    def _axes_at(self, place: TablePath) -> tuple[int, ...]:
        """The axes that replace something at a place, in it, or around it."""
        if place not in self._reached:
            self._reached[place] = tuple(
                number
                for number, swept in enumerate(self._swept)
                if any(all(a == b for a, b in zip(place, path, strict=False)) for path in swept)
            )
        return self._reached[place]

    def _problems(self, document: dict[str, object]) -> list[Problem]:
        """Mistakes in a document, whose values are shown as they are written."""
        try:
            Scenario.model_validate(document, context=self._context)
        except ValidationError as error:
            return problems_of(error, Scenario, document)
        raise AssertionError("a document is refused with validated tables in it, and not without")


def _at(scenario: Scenario, place: TablePath) -> Any:
    found: Any = scenario
    for segment in place:
        found = found[segment] if isinstance(found, dict) else getattr(found, segment)
    return found
