"""Collects what is wrong at the points of a study, each mistake once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from flashcrowd.base import paths
from flashcrowd.base.errors import Problem, StudyError
from flashcrowd.base.reasons import form
from flashcrowd.scenario.problems import shown
from flashcrowd.study.sweep import Axis


class Findings:
    """Problems, with their place in the sweep if that is where they come from."""

    def __init__(self, axes: Sequence[Axis] = (), known: Iterable[Problem] = ()) -> None:
        """`known` are problems that no sweep value is to blame for."""
        self._known = {(problem.path, problem.value) for problem in known}
        self._lists = {path: values for axis in axes for path, values in axis.items()}
        self._problems: dict[tuple[str, str, str], Problem] = {}

    def add(self, problems: Iterable[Problem], values: Mapping[str, object]) -> None:
        """Takes up what is wrong at the point with these sweep values."""
        for problem in problems:
            located = self._located(problem, values)
            # At two points it may differ in its numbers, and is one mistake all the same.
            key = (located.path, located.value, form(located.allowed))
            self._problems.setdefault(key, located)

    def _located(self, problem: Problem, values: Mapping[str, object]) -> Problem:
        for path, value in values.items():
            if problem.path == path or problem.path.startswith((f"{path}.", f"{path}[")):
                listed = self._lists.get(path, [])
                place: list[str | int] = ["sweep", path]
                if value in listed:
                    place.append(listed.index(value))
                return replace(problem, path=paths.join(place) + problem.path.removeprefix(path))
        if not values or (problem.path, problem.value) in self._known:
            return problem
        where = f"at {at(values)}"
        return replace(problem, hint=f"{problem.hint}; {where}" if problem.hint else where)

    @property
    def found(self) -> list[Problem]:
        """All of them, each once."""
        return list(self._problems.values())

    def raise_any(self, source: str) -> None:
        """Raises a `StudyError` if there are any."""
        if self._problems:
            raise StudyError(self.found, source)


def at(values: Mapping[str, object]) -> str:
    """A point in words."""
    return ", ".join(f"{path} = {shown(value)}" for path, value in values.items())
