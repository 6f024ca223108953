"""Other values in place of those of the file."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from flashcrowd.base import paths
from flashcrowd.base.errors import Problem
from flashcrowd.scenario.problems import shown
from flashcrowd.study.sweep import ROOTS, Axis, near, path_problems, plain

_NAMES = ("base", "line")
"""Keys that name a whole table: another name takes the values of the old one away."""
TOP = ("title", "description", "seed", "repeats")


def wholes_first(values: Mapping[str, object]) -> Iterator[dict[str, object]]:
    """The values in rounds: a whole (a table, a line's name) comes before what refines it."""
    left = {path: tuple(paths.parse(path) or [path]) for path in values}
    while left:
        now = [it for it in left if not any(_refines(left[it], other) for other in left.values())]
        yield {path: values[path] for path in now or left}
        left = {path: it for path, it in left.items() if now and path not in now}


def _refines(segments: Sequence[str], other: Sequence[str]) -> bool:
    """Whether a value is part of what another one says."""
    whole = other[:-1] if other[-1] in _NAMES else other
    return segments != other and _is_part(segments, whole)


def refined(given: dict[str, object], values: Mapping[str, object]) -> dict[str, object] | None:
    """The content of a file with values put into tables that it has; `None` if it lacks one."""
    for path, value in values.items():
        segments = paths.parse(path) or [path]
        try:
            below = paths.look_up(given, segments[:-1])
        except KeyError:
            return None
        if not isinstance(below, dict):
            return None
        given = paths.replaced(given, segments, plain(value))
    return given


def overridden(
    given: dict[str, object],
    document: dict[str, object],
    axes: Sequence[Axis],
    values: Mapping[str, object],
    fixed: Collection[str] = (),
) -> tuple[dict[str, object], list[Problem]]:
    """The content of a file with other values at some paths, and what is wrong with the paths.

    Args:
        given: the content of the file.
        document: the resolved content, which knows all paths.
        axes: what is swept. A path that is set is swept no more.
        values: the new values by path.
        fixed: the paths that get a value in this round or another.
    """
    problems: list[Problem] = []
    for path, value in values.items():
        segments = paths.parse(path)
        if segments is None or segments[0] not in (*ROOTS, *TOP):
            allowed = f"a dotted path that begins with one of {', '.join((*ROOTS, *TOP))}"
            problems.append(Problem(path, shown(value), allowed, _hint(path, document)))
            continue
        swept = [it for axis in axes for it in axis]
        over = next((it for it in swept if _is_part(segments, paths.parse(it) or [it])), None)
        if over is not None:
            allowed = f"a value that no sweep replaces: {over} is swept as a whole"
            hint = f"set `{over}` as well, and the value refines it"
            problems.append(Problem(path, shown(value), allowed, hint))
            continue
        found = [
            problem
            for problem in path_problems(path, path, segments, document, shown(value))
            if segments[-1] not in _NAMES
        ]
        problems.extend(found)
        joint = next((axis for axis in axes if path in axis), {})
        left = {other: of for other, of in joint.items() if other not in fixed}
        if left and (equal := _equal(left)):
            found = [_joint(path, value, list(left), equal)]
            problems.extend(found)
        if not found:
            given = _set(given, document, segments, plain(value))
    left = [{path: of for path, of in axis.items() if path not in values} for axis in axes]
    return {**given, "sweep": [axis for axis in left if axis]}, problems


def _equal(axis: Axis) -> tuple[int, int] | None:
    """Two levels of an axis with the same values, counted from 1."""
    seen: dict[str, int] = {}
    for number, level in enumerate(zip(*axis.values(), strict=True), start=1):
        first = seen.setdefault(json.dumps(level, sort_keys=True, default=str), number)
        if first != number:
            return first, number
    return None


def _joint(path: str, value: Any, others: Sequence[str], equal: tuple[int, int]) -> Problem:
    """That a path is all that tells two levels of an axis apart."""
    first, second = equal
    return Problem(
        path,
        shown(value),
        f"no value that makes points equal: it is swept with {', '.join(others)}, and without it "
        f"the values {first} and {second} of these are the same",
        "set these as well, or change the lists of this [[sweep]] in the study file",
    )


def _is_part(segments: Sequence[str], whole: Sequence[str]) -> bool:
    """Whether a value is in the table at the path `whole`."""
    return len(whole) < len(segments) and [*segments[: len(whole)]] == [*whole]


def _hint(path: str, document: dict[str, object]) -> str:
    """A likely meaning, or where to set a path that only the file can set."""
    hint = near(path, document)
    return f"set `{path}` in the study file" if f'"{path}"' in hint else hint


def _set(given: Any, document: Any, segments: Sequence[str], value: Any) -> dict[str, object]:
    """`given` with a value at a path; a shorthand on the way becomes its table."""
    copy = dict(given) if isinstance(given, dict) else {}
    first, *rest = segments
    if not rest:
        return {**copy, first: value}
    below = copy.get(first, {})
    resolved = document.get(first, {}) if isinstance(document, dict) else {}
    if not isinstance(below, dict):
        below = {} if rest[0] in _NAMES else resolved
    copy[first] = _set(below, resolved, rest, value)
    return copy


def replaced_in(given: dict[str, object], values: Mapping[str, object]) -> dict[str, object]:
    """The content of a file with other values where it has some; itself if it has none there."""
    for path, value in values.items():
        segments = paths.parse(path)
        if segments is None:
            continue
        with contextlib.suppress(KeyError):
            paths.look_up(given, segments)
            given = paths.replaced(given, segments, plain(value))
    return given
