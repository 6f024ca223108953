"""Points of several results folders, matched by their sweep values, and their tables in one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from flashcrowd.base import paths
from flashcrowd.base.looks import Looks
from flashcrowd.report import listings, source
from flashcrowd.report.compare_side import Incomparable, Side
from flashcrowd.report.points import RUN_COLUMNS
from flashcrowd.store.results import Results
from flashcrowd.store.swept import as_written, si_number

AXIS = "folder"
"""The column of ``runs`` that says of which folder a run is."""

Key = tuple[object, ...]


@dataclass(frozen=True)
class Merged:
    """The runs of all folders as one study, whose last axis is the folder.

    Attributes:
        tables: as of a results folder.
        study: the resolved study of the first folder, stopped by the rule with the most looks.
        provenance: that of the first folder.
        notices: what was left out, and what makes the folders differ besides the setting.
        settings: every setting that is not the same in all: path, and its value in each folder.
    """

    tables: Mapping[str, pa.Table]
    study: Mapping[str, object]
    provenance: Mapping[str, object]
    notices: tuple[str, ...]
    settings: tuple[tuple[str, tuple[str, ...]], ...]


def named(results: Sequence[Results], names: Sequence[str] | None = None) -> list[Side]:
    """Sides with names that tell them apart: given ones, engines, or the ends of their paths."""
    if names is None:
        engines = [each.manifest.engine.name for each in results]
        names = names_of(engines, [str(each.path.resolve()) for each in results])
    return [Side.of(each, name) for each, name in zip(results, names, strict=True)]


def names_of(engines: Sequence[str], folders: Sequence[str]) -> list[str]:
    """Names of folders: their engines if each has another one, else their paths."""
    return list(engines) if len(set(engines)) == len(engines) else short_names(folders)


def short_names(folders: Sequence[str]) -> list[str]:
    """The shortest ends of some paths that are all different."""
    parts = [folder.replace("\\", "/").strip("/").split("/") for folder in folders]
    for take in range(1, max(map(len, parts)) + 1):
        found = ["/".join(part[-take:]) for part in parts]
        if len(set(found)) == len(found):
            return found
    return [f"{part[-1]} ({number})" for number, part in enumerate(parts, 1)]


def merged(sides: Sequence[Side]) -> Merged:
    """One study of all.

    Raises:
        Incomparable: they have no point in common.
    """
    if len({side.name for side in sides}) < len(sides):
        raise Incomparable([f"Two of them are called {_twice([s.name for s in sides])}."])
    swept = [_swept(side) for side in sides]
    every = list(dict.fromkeys(path for of in swept for path in of))
    keys = [_keys(side, every) for side in sides]
    common = [key for key in keys[0] if all(key in of for of in keys[1:])]
    if not common:
        raise Incomparable(_nothing_common(sides, every, keys))
    notices = [*_programs(sides), *_left_out(sides, keys, common)]
    notices += [f"{side.name}: {text}" for side in sides for text in side.columns]
    notices += [text for side in sides for text in _uncounted(side)]
    # Values are written as the first folder writes them, so that equal ones are one level.
    rows = {
        key: (number, tuple(_written(sides[0], keys[0][key], path) for path in every))
        for number, key in enumerate(common)
    }
    of_point = [{of[key]: rows[key] for key in common} for of in keys]
    tables = _Behind(sides, every, of_point)
    return Merged(tables, _study(sides), sides[0].provenance, tuple(notices), _settings(sides))


def _study(sides: Sequence[Side]) -> Mapping[str, object]:
    """The study of the first folder, with the repeats of the one at which was looked most often.

    Its expectations are not judged here: they were of one folder.
    """
    study = {key: value for key, value in sides[0].study.items() if key != "expect"}
    looked = [
        (len(looks.schedule), side) for side in sides if (looks := Looks.of_study(side.study))
    ]
    if looked:
        study["repeats"] = max(looked, key=lambda pair: pair[0])[1].study["repeats"]
    return study


def _swept(side: Side) -> list[str]:
    """The settings that a side varies: columns of ``runs`` with more than one sweep value."""
    runs = side.tables["runs"]
    return [
        name
        for name in runs.column_names
        if name not in RUN_COLUMNS and len(runs.column(name).unique()) > 1
    ]


def _keys(side: Side, every: Sequence[str]) -> dict[Key, int]:
    """The points of a side by the values of all that any side varies."""
    found: dict[Key, int] = {}
    for point in side.tables["runs"].column("point").unique().to_pylist():
        found[tuple(_key(_written(side, point, path)) for path in every)] = point
    return found


def _written(side: Side, point: int, path: str) -> Any:
    """The value of a setting at a point: as it was swept, else as the study has it."""
    runs = side.tables["runs"]
    if path in runs.column_names:
        return runs.column(path)[runs.column("point").to_pylist().index(point)].as_py()
    try:
        value = paths.look_up(dict(side.study), paths.parse(path) or [path])
    except KeyError:
        return None
    return value if isinstance(value, bool | int | float) else as_written(value)


def _key(value: Any) -> object:
    """Equal for equal values, however they are written: 0.4 s and 400 ms."""
    number = None if isinstance(value, bool) else si_number(value)
    return value if number is None else round(number, 12)


def _twice(names: Sequence[str]) -> str:
    return next(name for name in names if list(names).count(name) > 1)


def _nothing_common(
    sides: Sequence[Side], every: Sequence[str], keys: Sequence[Mapping[Key, int]]
) -> list[str]:
    """Why no point is in all folders, setting by setting."""
    reasons = ["No point has the same sweep values in all of them."]
    for path in every:
        values = [
            ", ".join(dict.fromkeys(str(_written(side, point, path)) for point in of.values()))
            for side, of in zip(sides, keys, strict=True)
        ]
        if len(set(values)) > 1:
            each = zip(sides, values, strict=True)
            reasons.append(
                f"{path}: " + "; ".join(f"{side.name} has {text}" for side, text in each)
            )
    return reasons


def _left_out(
    sides: Sequence[Side], keys: Sequence[Mapping[Key, int]], common: Sequence[Key]
) -> Iterator[str]:
    for side, of in zip(sides, keys, strict=True):
        alone = len(of) - len(common)
        if alone:
            yield f"{alone} of {len(of)} points of {side.name} are not in all folders: left out."


def _programs(sides: Sequence[Side]) -> Iterator[str]:
    """That the folders were not made by one program, or not with one version of the tables."""
    if _differ(sides):
        each = "; ".join(_made_by(side) for side in sides)
        yield f"Made by different programs, so a difference may come from the program: {each}."
    if len({side.version for side in sides}) > 1:
        each = "; ".join(f"{side.name} has version {side.version}" for side in sides)
        yield f"Tables of different versions, matched by the names of their columns: {each}."


def _differ(sides: Sequence[Side]) -> bool:
    """Whether two folders of one engine, or two engines, are not of one build.

    Each engine of an installation has a digest of its own: engines have their build in common.
    """
    programs: dict[str, set[str]] = {}
    builds: set[tuple[object, ...]] = set()
    for side in sides:
        programs.setdefault(side.program.partition(" ")[0], set()).add(side.program)
        builds.add((*side.program.split(" ")[1:2], side.provenance.get("commit")))
    several = any(len(each) > 1 for each in programs.values())
    return several or (len(programs) > 1 and len(builds) > 1)


def _made_by(side: Side) -> str:
    """The program behind a side, which may have its name."""
    program = side.program or "an unknown one"
    return program if program.startswith(f"{side.name} ") else f"{side.name} by {program}"


def _uncounted(side: Side) -> Iterator[str]:
    """Which runs are in no mean, because something went wrong."""
    outcomes = side.tables["runs"].column("outcome").to_pylist()
    reasons = side.tables["runs"].column("reason").to_pylist()
    for outcome, words in _WRONG.items():
        of = [reason for reason, found in zip(reasons, outcomes, strict=True) if found == outcome]
        if of:
            count = f"{len(of)} of {len(outcomes)} runs of {side.name}"
            yield f"{count} {words}, and count in no mean: {of[0]}."


_WRONG = {
    "invalid": "are invalid",
    "failed": "failed",
    "undelivered": "did not deliver everything",
}


def _settings(sides: Sequence[Side]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Settings that are not the same everywhere, what only names or repeats a study left out."""
    flat = [dict(listings.settings(dict(side.study))) for side in sides]
    every = dict.fromkeys(path for of in flat for path in of)
    found = []
    for path in every:
        if path.split(".")[0].split("[")[0] in (
            "title",
            "description",
            "sweep",
            "report",
            "expect",
        ):
            continue
        values = tuple(of.get(path, "–") for of in flat)
        if len(set(values)) > 1:
            found.append((path, values))
    return tuple(found)


class _Behind(Mapping[str, pa.Table]):
    """The tables of all sides behind each other, made when they are asked for."""

    def __init__(
        self,
        sides: Sequence[Side],
        every: Sequence[str],
        of_point: Sequence[Mapping[int, tuple[int, tuple[Any, ...]]]],
    ) -> None:
        self._sides = sides
        self._every = every
        self._of_point = of_point
        self._count = len(of_point[0])
        self._read: dict[str, pa.Table] = {}
        self._first: list[int] = []
        self._runs: list[pa.Array] = []
        first = 0
        for side, points in zip(sides, of_point, strict=True):
            runs = side.tables["runs"]
            kept = runs.filter(pc.field("point").isin(list(points)))
            self._runs.append(kept.column("run").combine_chunks())
            self._first.append(first)
            first += 1 + int(source.integers(runs, "run").max(initial=0))

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys(name for side in self._sides for name in side.tables))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __contains__(self, name: object) -> bool:
        return any(name in side.tables for side in self._sides)

    def __getitem__(self, name: str) -> pa.Table:
        if name not in self:
            raise KeyError(name)
        if name not in self._read:
            whole = self._whole_runs() if name == "runs" else self._whole(name)
            self._read[name] = whole
        return self._read[name]

    def _whole(self, name: str) -> pa.Table:
        parts = []
        for number, side in enumerate(self._sides):
            if name in side.tables:
                table = side.tables[name].replace_schema_metadata(None)
                if "run" in table.column_names:
                    table = self._renumbered(number, table)
                parts.append(table)
        return pa.concat_tables(parts, promote_options="permissive")

    def _renumbered(self, number: int, table: pa.Table) -> pa.Table:
        table = table.filter(pc.field("run").isin(self._runs[number]))
        run = pa.array(source.integers(table, "run") + self._first[number], pa.int64())
        return table.set_column(table.column_names.index("run"), "run", run)

    def _whole_runs(self) -> pa.Table:
        parts = []
        for number, side in enumerate(self._sides):
            table = side.tables["runs"].replace_schema_metadata(None)
            table = self._renumbered(number, table)
            points = [self._of_point[number][p] for p in table.column("point").to_pylist()]
            # Points of one folder follow those of the one before, so that each has its own number.
            place = [number * self._count + index for index, _ in points]
            columns: dict[str, object] = {name: table.column(name) for name in _fixed(table)}
            columns["point"] = pa.array(place, pa.int64())
            for i, path in enumerate(self._every):
                columns[path] = pa.array([_text(values[i]) for _, values in points])
            columns[AXIS] = pa.array([side.name] * table.num_rows, pa.string())
            parts.append(pa.table(columns))
        return pa.concat_tables(parts, promote_options="permissive")


def _fixed(table: pa.Table) -> list[str]:
    return [name for name in table.column_names if name in RUN_COLUMNS]


def _text(value: Any) -> Any:
    return value if value is None or isinstance(value, bool | int | float) else str(value)
