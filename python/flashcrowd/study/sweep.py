"""Sweeps: which values vary, and the points that they span.

In a file, `[sweep]` is a table of paths, each with its list of values: every combination is a
point. `[[sweep]]` is a list of axes: paths in one such table vary side by side (their lists are
equally long), and the tables are combined. The last axis varies fastest.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pydantic import BaseModel

from flashcrowd.base import paths
from flashcrowd.base.errors import Problem, did_you_mean, nearest
from flashcrowd.base.units import Quantity, UnitError
from flashcrowd.scenario.line import Delay
from flashcrowd.scenario.problems import shown
from flashcrowd.scenario.queue import Queue

Axis = dict[str, list[Any]]

MOST_POINTS = 100_000
ROOTS = ("network", "workloads", "stacks", "utp", "profiles", "timeline", "measures", "stop")
BASES = ("base", "line")
WHOLE = {
    "seed": "more repeats mean more seeds",
    "repeats": "more repeats mean more seeds",
    "title": "it names the study as a whole",
    "description": "it describes the study as a whole",
    "format": "it says how the file is read",
    "sweep": "a path that is set is swept no more; what varies stands in the file",
}
"""Keys of the whole study, which no sweep may vary, and why."""


def axes_of(given: Any) -> Any:
    """The axes that a `sweep` in either form means."""
    if isinstance(given, Mapping):
        return [{path: values} for path, values in _flat(given)]
    if isinstance(given, list):
        return [dict(_flat(axis)) if isinstance(axis, Mapping) else axis for axis in given]
    raise UnitError("a table of paths, each with a list of values")


def _flat(table: Mapping[str, object], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Paths and lists, whether a path is written in quotes or as nested tables."""
    for key, value in table.items():
        path = f"{prefix}.{key}" if prefix else key
        if isinstance(value, Mapping):
            yield from _flat(value, path)
        elif not isinstance(value, list):
            raise UnitError("lists of values", f'write "{path}" = [{shown(value)}]')
        else:
            yield path, [plain(item) for item in value]


def plain(value: Any) -> Any:
    """A value as a file would have it, for those who write studies in Python."""
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json", by_alias=True)
    return str(value) if isinstance(value, Quantity | Queue | Delay) else value


def shape_problems(axes: Sequence[Axis], document: dict[str, object]) -> list[Problem]:
    """Mistakes in the paths and the lengths of the lists."""
    problems: list[Problem] = []
    seen: list[tuple[list[str], str]] = []
    for axis in axes:
        if not axis:
            problems.append(Problem("sweep", "{}", "a table of paths, each with a list of values"))
        lengths = {path: len(values) for path, values in axis.items()}
        if len(set(lengths.values())) > 1:
            value = ", ".join(f"{path}: {length}" for path, length in lengths.items())
            allowed = "lists of equal length, since these vary side by side"
            hint = "put paths that vary independently into tables of their own"
            problems.append(Problem("sweep", value, allowed, hint))
        for path, values in axis.items():
            place = paths.join(("sweep", path))
            if not values:
                problems.append(Problem(place, "[]", "at least one value"))
            segments = paths.parse(path)
            if segments is None or segments[0] not in ROOTS:
                allowed = f"a dotted path that begins with one of {', '.join(ROOTS)}"
                problems.append(Problem(place, shown(path), allowed, near(path, document)))
                continue
            problems.extend(path_problems(place, path, segments, document))
            for other, name in seen:
                short = min(len(other), len(segments))
                if other[:short] == segments[:short]:
                    allowed = "each value swept once"
                    problems.append(
                        Problem(place, shown(path), allowed, f"{name} is swept as well")
                    )
            seen.append((segments, path))
        if len(axis) == 1:
            problems.extend(_twins(paths.join(("sweep", *axis)), *axis.values()))
        elif len(set(lengths.values())) == 1:
            problems.extend(
                _twins("sweep", [list(row) for row in zip(*axis.values(), strict=True)])
            )
    count = math.prod(len(next(iter(axis.values()), [])) for axis in axes)
    if count > MOST_POINTS:
        problems.append(Problem("sweep", f"{count} points", f"at most {MOST_POINTS} points"))
    return problems


def _twins(place: str, values: list[Any]) -> list[Problem]:
    """Values that stand twice in a list."""
    seen: set[str] = set()
    problems: list[Problem] = []
    for index, value in enumerate(values):
        # The whole value: what is shown of long ones is their beginning.
        text = json.dumps(value, sort_keys=True, default=str)
        if text in seen:
            problems.append(Problem(f"{place}[{index}]", shown(value), "each value once"))
        seen.add(text)
    return problems


def path_problems(
    place: str, path: str, segments: Sequence[str], document: dict[str, object], value: str = ""
) -> list[Problem]:
    """Whether a study has a value at a path that may be replaced; `value` is what is shown."""
    value = value or shown(path)
    if segments[-1] in BASES and segments[0] in ("stacks", "utp", "profiles", "network"):
        allowed = "a value; the other values of this table are resolved already"
        hint = "vary the name where it is used: `stack`, `profile` or `access`"
        return [Problem(place, value, allowed, hint)]
    try:
        paths.look_up(document, segments)
    except KeyError:
        allowed = "the dotted path of a value in this study"
        return [Problem(place, value, allowed, near(path, document))]
    return []


def near(path: str, document: dict[str, object]) -> str:
    """The nearest path that exists: the last wrong segment first, then the path as a whole."""
    segments = paths.parse(path) or []
    if segments and segments[0] in WHOLE:
        return WHOLE[segments[0]]
    table: Any = document
    for depth, segment in enumerate(segments):
        if not isinstance(table, dict):
            whole = paths.join(segments[:depth])
            return f"{whole} is {shown(table)}, which has no parts; give it a table first"
        if segment not in table:
            near = nearest(segment, table)
            if near:
                mended = [*segments[:depth], near, *segments[depth + 1 :]]
                return f'did you mean "{paths.join(mended)}"?'
            break
        table = table[segment]
    return did_you_mean(path, (paths.join(leaf) for leaf in paths.leaves(document)))


def combinations(axes: Sequence[Axis]) -> Iterator[tuple[tuple[int, ...], dict[str, object]]]:
    """Of each point the row of each axis, and the values by path."""
    lengths = [len(next(iter(axis.values()), [])) for axis in axes]
    for rows in itertools.product(*map(range, lengths)):
        chosen = zip(axes, rows, strict=True)
        yield rows, {path: values[row] for axis, row in chosen for path, values in axis.items()}
