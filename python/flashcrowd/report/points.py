"""The points of a study: which sweep values each has, and which runs belong to it."""

from __future__ import annotations

import json
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import pyarrow as pa

from flashcrowd.base.metrics import CASE
from flashcrowd.base.undelivered import CUT, UNDELIVERED
from flashcrowd.report.setting_names import short_name
from flashcrowd.report.source import Source
from flashcrowd.report.sweep_values import Scale, scale, shown
from flashcrowd.store.schema import ENGINE_TABLES, RUN, RUN_KEYS
from flashcrowd.store.swept import as_written

#: Columns of the table ``runs`` that are not sweep values.
RUN_COLUMNS = frozenset(column.name for column in (RUN, *RUN_KEYS, *ENGINE_TABLES["run"].columns))

#: Outcomes after which the numbers of a run are complete.
GOOD_OUTCOMES = ("completed", "stopped")


@dataclass(frozen=True, slots=True)
class Run:
    """One row of ``runs``, as far as a report needs it."""

    run: int
    point: int
    repeat: int
    seed: int
    outcome: str
    reason: str
    end_s: float

    @property
    def good(self) -> bool:
        """Whether the run ended as planned, so that its means cover all its peers."""
        return self.outcome in GOOD_OUTCOMES

    @property
    def unfinished(self) -> bool:
        """Whether what is missing of it is what would have taken longest."""
        return self.outcome in (UNDELIVERED, *CUT)

    def good_until(self, end_s: float) -> bool:
        """Whether the run was as planned until then, however it ended."""
        return self.good or (self.outcome in CUT and self.end_s >= end_s)


@dataclass(frozen=True)
class Axis:
    """One swept setting, or several that the sweep changes together.

    Attributes:
        paths: dotted paths as in the study file.
        name: short name for headings.
        levels: its values, one tuple over `paths` each, in order of the study.
        cases: what the study calls each level; empty if it says nothing.
    """

    paths: tuple[str, ...]
    name: str
    levels: tuple[tuple[object, ...], ...]
    cases: tuple[str, ...] = ()

    @cached_property
    def scale(self) -> Scale | None:
        """The levels as numbers, if the axis is one setting and all are quantities."""
        if len(self.paths) != 1 or self.cases:
            return None
        return scale(level[0] for level in self.levels)

    def label(self, level: int) -> str:
        """The level as text: ``400 ms``, or ``50 / 20 kB/s`` for settings swept together."""
        if self.cases:
            return self.cases[level]
        texts = list(dict.fromkeys(shown(value) for value in self.levels[level]))
        units = {text.partition(" ")[2] for text in texts}
        if len(texts) > 1 and len(units) == 1 and scale(texts) is not None:
            return " / ".join(text.partition(" ")[0] for text in texts) + f" {units.pop()}"
        return " / ".join(texts)

    def said(self, level: int) -> str:
        """The level in a sentence: ``RTT 400 ms``, or what the study calls it."""
        return self.label(level) if self.cases else f"{self.name} {self.label(level)}"

    @property
    def title(self) -> str:
        """Name with unit, for the axis of a figure."""
        unit = self.scale.unit if self.scale else ""
        return f"{self.name} ({unit})" if unit else self.name


@dataclass(frozen=True)
class Point:
    """One combination of sweep values."""

    index: int
    levels: tuple[int, ...]
    label: str
    runs: tuple[Run, ...]

    @property
    def good_runs(self) -> tuple[Run, ...]:
        """The runs whose numbers count."""
        return tuple(run for run in self.runs if run.good)


@dataclass(frozen=True)
class Points:
    """All points of a study, in its order."""

    axes: tuple[Axis, ...]
    points: tuple[Point, ...]

    @property
    def baseline(self) -> Point:
        """The first point."""
        return self.points[0]

    def setting(self, name: str) -> tuple[int, int]:
        """The axis of a swept setting, and its place among the paths of the axis.

        Args:
            name: a swept path or its end.

        Raises:
            KeyError: no such setting is swept.
        """
        for number, axis in enumerate(self.axes):
            for place, path in enumerate(axis.paths):
                if path == name or path.endswith(f".{name}"):
                    return number, place
        known = ", ".join(path for axis in self.axes for path in axis.paths)
        raise KeyError(f"{name!r} is not swept; swept are {known}")

    def chosen(self, name: str, value: object) -> tuple[int, list[int]]:
        """The axis of a swept setting, and the levels of it that have this value.

        Args:
            name: a swept path or its end, or "case" where the study names its levels.
            value: as the study has it, or the name of a case.

        Raises:
            KeyError: no such setting is swept.
        """
        for number, axis in enumerate(self.axes):
            if name == CASE and axis.cases:
                return number, [i for i, case in enumerate(axis.cases) if case == value]
        number, place = self.setting(name)
        written = json.dumps(value) if isinstance(value, Mapping) else value
        levels = self.axes[number].levels
        return number, [i for i, level in enumerate(levels) if level[place] == written]

    @cached_property
    def runs(self) -> dict[int, Run]:
        """All runs by number."""
        return {run.run: run for point in self.points for run in point.runs}

    def only(self, points: Sequence[Point]) -> Points:
        """These points alone, and of each axis the levels that they have."""
        wanted = {point.index for point in points}
        points = [point for point in self.points if point.index in wanted]
        used = [sorted({p.levels[i] for p in points}) for i in range(len(self.axes))]
        axes = tuple(
            replace(
                axis,
                levels=tuple(axis.levels[level] for level in kept),
                cases=tuple(axis.cases[level] for level in kept) if axis.cases else (),
            )
            for axis, kept in zip(self.axes, used, strict=True)
        )
        moved = [
            replace(p, levels=tuple(used[i].index(level) for i, level in enumerate(p.levels)))
            for p in points
        ]
        return Points(axes, tuple(moved))

    def count(self) -> str:
        """How many runs each point has, as ``n = 10`` or ``n = 8 to 10``."""
        return f"n = {self._runs}"

    def per_point(self) -> str:
        """The same in words: ``10 runs per point``."""
        return f"{self._runs} run{'' if self._runs == '1' else 's'} per point"

    @property
    def _runs(self) -> str:
        return _n([len(point.runs) for point in self.points])


def _n(counts: Sequence[int]) -> str:
    least, most = min(counts), max(counts)
    return f"{least}" if least == most else f"{least} to {most}"


def points_of(results: Source) -> Points:
    """The points of some results, with the names that their study gives them."""
    return read(results.tables["runs"], study=results.study)


def read(
    runs: pa.Table,
    names: Mapping[str, str] | None = None,
    study: Mapping[str, Any] | None = None,
) -> Points:
    """The points that the table ``runs`` describes.

    Settings that the sweep changes together are one axis.

    Args:
        runs: the table.
        names: what to call swept settings, by dotted path; others get the end of their path.
        study: the resolved study, which may have names for the levels of its first axis.
    """
    rows = sorted(runs.to_pylist(), key=lambda row: (row["point"], row["repeat"], row["run"]))
    paths = [name for name in runs.column_names if name not in RUN_COLUMNS]
    by_point: dict[int, list[Run]] = {}
    values: dict[int, dict[str, object]] = {}
    for row in rows:
        index = int(row["point"])
        values.setdefault(index, {path: row[path] for path in paths})
        by_point.setdefault(index, []).append(_run(row))
    cases = ((study or {}).get("report") or {}).get("cases") or ()
    first = next(iter((study or {}).get("sweep") or ()), {}) if cases else {}
    axes = _axes(_together(paths, values, first), values, names or {})
    axes = tuple(_named(axis, first, cases) for axis in axes)
    points = []
    for index, members in by_point.items():
        levels = tuple(
            axis.levels.index(tuple(values[index][path] for path in axis.paths)) for axis in axes
        )
        points.append(Point(index, levels, _label(axes, levels), tuple(members)))
    return Points(axes, tuple(points))


def _run(row: Mapping[str, object]) -> Run:
    return Run(
        run=int(str(row["run"])),
        point=int(str(row["point"])),
        repeat=int(str(row["repeat"])),
        seed=int(str(row["seed"])),
        outcome=str(row["outcome"]),
        reason=str(row.get("reason") or ""),
        end_s=float(str(row.get("end_s") or 0.0)),
    )


def _together(
    paths: Sequence[str],
    values: Mapping[int, Mapping[str, object]],
    first: Container[str] = (),
) -> list[tuple[str, ...]]:
    """Group paths that are not fully crossed: a sweep crosses its axes, and only these.

    Those of the `first` axis belong together in any case.
    """
    groups: list[list[str]] = []
    for path in paths:
        for group in groups:
            together = path in first and group[0] in first
            if together or any(not _crossed(path, other, values) for other in group):
                group.append(path)
                break
        else:
            groups.append([path])
    return [tuple(group) for group in groups]


def _crossed(one: str, other: str, values: Mapping[int, Mapping[str, object]]) -> bool:
    pairs = {(repr(v[one]), repr(v[other])) for v in values.values()}
    return len(pairs) == len({a for a, _ in pairs}) * len({b for _, b in pairs})


def _axes(
    groups: Sequence[tuple[str, ...]],
    values: Mapping[int, Mapping[str, object]],
    names: Mapping[str, str],
) -> tuple[Axis, ...]:
    every = [path for group in groups for path in group]
    axes = []
    for group in groups:
        levels = dict.fromkeys(tuple(v[path] for path in group) for v in values.values())
        name = _axis_name(group, every, names)
        axes.append(Axis(tuple(group), name, tuple(levels)))
    return tuple(axes)


def _named(axis: Axis, first: Mapping[str, Sequence[Any]], cases: Sequence[str]) -> Axis:
    """The axis with the names that the study has for its levels, if it is the first one."""
    if not all(path in first for path in axis.paths):
        return axis
    rows = zip(*(map(as_written, first[path]) for path in axis.paths), strict=True)
    known = dict(zip(rows, cases, strict=False))
    found = [known.get(tuple(map(as_written, level))) for level in axis.levels]
    if len(set(found)) < len(found) or None in found:
        return axis
    return replace(axis, name=CASE, cases=tuple(str(name) for name in found))


def _axis_name(group: Sequence[str], every: Sequence[str], names: Mapping[str, str]) -> str:
    """The name of an axis; settings swept together by the ends of their paths."""
    if all(path in names for path in group):
        return " / ".join(dict.fromkeys(names[path] for path in group))
    if len(group) == 1:
        return short_name(group[0], every)
    return " / ".join(dict.fromkeys(short_name(path.split(".")[-1], ()) for path in group))


def _label(axes: Sequence[Axis], levels: Sequence[int]) -> str:
    pairs = list(zip(axes, levels, strict=True))
    swept = [(axis, level) for axis, level in pairs if len(axis.levels) > 1] or pairs
    if not swept:
        return "the only point"
    return ", ".join(axis.said(level) for axis, level in swept)
