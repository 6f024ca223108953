"""The manifest of a results folder: its points, its runs, and the code that makes them.

Two things decide every number of a run: its plan with its seed, and the engine's code. A folder
goes on only where both are what they were; a new title or more repeats change neither.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from flashcrowd.base import folder_files
from flashcrowd.store import digests, schema
from flashcrowd.store.errors import DamagedResults, OtherFormat, ResultsError

FORMAT = 4
"""Version of the results folder."""

FILE = digests.MANIFEST

STUDY = "study.json"

_UNBOUND = " (in format 3 nothing says of which runs the tables are)"


@dataclass(frozen=True)
class Point:
    """One combination of sweep values.

    Attributes:
        values: dotted path to value as written.
        plan: digest of its plan, see `plan.digest`.
    """

    values: Mapping[str, object]
    plan: str


@dataclass(frozen=True)
class Run:
    """One run: a point of the sweep, the number of the repeat, and the seed."""

    point: int
    repeat: int
    seed: int

    @property
    def key(self) -> str:
        """A name, for its file; more repeats do not change it."""
        return f"p{self.point:04d}-r{self.repeat:04d}"


@dataclass(frozen=True)
class Engine:
    """The code behind the numbers: which engine, its version, and a digest of its sources."""

    name: str
    version: str
    digest: str

    def __str__(self) -> str:
        return f"{self.name} {self.version} ({self.digest})"


@dataclass(frozen=True)
class Manifest:
    """Everything that a folder promises. Runs are numbered by their place in `runs`.

    `files` has the digest of each file that describes the study: its resolved form and its plans.
    """

    name: str
    fingerprint: str
    engine: Engine
    points: tuple[Point, ...]
    runs: tuple[Run, ...]
    format: int = FORMAT
    tables: int = schema.VERSION
    files: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def wanted(self) -> frozenset[Run]:
        """All runs, to look one up."""
        return frozenset(self.runs)

    def to_json(self) -> dict[str, object]:
        """As plain values, the format's version first."""
        plain = asdict(self)
        return {"format": plain.pop("format"), "tables": plain.pop("tables"), **plain}

    @classmethod
    def read(cls, folder: Path) -> Manifest:
        """The manifest of a results folder.

        Raises:
            DamagedResults: it is not what was written, or is gone.
            OtherFormat: another version wrote it.
            ResultsError: this is no results folder, or it cannot be read.
        """
        path = folder / FILE
        if not folder_files.exists(path, folder):
            raise gone(folder) if (folder / STUDY).is_file() else _no_results(folder)
        with digests.reading(path, folder):
            data = folder_files.read(path, folder)
            plain = json.loads(data.decode())
            if not isinstance(plain, dict):
                raise ValueError("it is no table")
            version = plain.get("format")
            if version == FORMAT or digests.KEY in plain:
                plain = digests.unsealed(data)
            if version == FORMAT:
                return _checked(data)
        if not isinstance(version, int):
            what = "is no manifest of flashcrowd"
            raise ResultsError(path, what, "A results folder is made by: flashcrowd run STUDY.toml")
        raise OtherFormat(
            path,
            f"has format {version!r}, this version of flashcrowd reads {FORMAT}"
            + (_UNBOUND if version == 3 else ""),
            "Use the version that wrote it, see provenance.json, or run the study with --fresh.",
        )


def _checked(data: bytes) -> Manifest:
    """The manifest in a file.

    Raises:
        ValueError: a value has another type, or a run is of no point.
    """
    try:
        found = _reader().validate_json(data, strict=True)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise ValueError(f"{place}: {first['msg']}") from None
    for place, run in enumerate(found.runs):
        if not (0 <= run.point < len(found.points) and run.repeat >= 0 and 0 <= run.seed < 1 << 64):
            raise ValueError(f"runs.{place}: there is no such run")
    if len(found.wanted) != len(found.runs):
        raise ValueError("runs: one stands there twice")
    return found


@cache
def _reader() -> TypeAdapter[Manifest]:
    return TypeAdapter(Manifest)


def differences(
    old: Manifest,
    new: Manifest,
    old_study: Mapping[str, object] | None,
    new_study: Mapping[str, object],
) -> list[str]:
    """Why a folder made for `old` cannot go on as `new`, one line a reason; empty if it can.

    Without `old_study`, which may be damaged, it cannot say which settings differ.
    """
    changes = []
    if old.tables != new.tables:
        changes.append(f"version of the tables: was {old.tables}, is {new.tables}")
    if old.engine != new.engine:
        changes.append(f"engine: was {old.engine}, is {new.engine}")
    plans = [point.plan for point in old.points] != [point.plan for point in new.points]
    lost = _lost_runs(old.runs, new.runs)
    if plans or lost:
        told = [] if old_study is None else changed_settings(old_study, new_study)
        changes += told
        if plans and not told:
            changes.append(
                "plans: the same study is lowered to another plan by this version"
                if old_study is not None
                else "plans: were of other settings; study.json is damaged, so it cannot say which"
            )
        if lost and not told:
            changes.append(lost)
    return changes


def _lost_runs(old: Sequence[Run], new: Sequence[Run]) -> str:
    """Which runs of the folder would no longer belong to it, in words."""
    wanted = {(run.point, run.repeat): run.seed for run in new}
    for run in old:
        seed = wanted.get((run.point, run.repeat))
        if seed is None:
            return f"runs: had repeat {run.repeat} of point {run.point}, which is not wanted now"
        if seed != run.seed:
            return f"seed of repeat {run.repeat} of point {run.point}: was {run.seed}, is {seed}"
    return ""


def changed_settings(old: Mapping[str, object], new: Mapping[str, object]) -> list[str]:
    """Which settings of a study differ, one line each."""
    before, after = _flat(old), _flat(new)
    lines = []
    for path in sorted(before.keys() | after.keys()):
        was, now = (json.dumps(flat.get(path), ensure_ascii=False) for flat in (before, after))
        if path in before and path in after:
            if was != now:
                lines.append(f"{path}: was {was}, is {now}")
        elif path in before:
            lines.append(f"{path}: was {was}, is gone")
        else:
            lines.append(f"{path}: is new, {now}")
    return lines


def _flat(value: Any, path: str = "") -> dict[str, object]:
    """Dotted path to leaf."""
    if isinstance(value, Mapping):
        items = [(f"{path}.{key}" if path else str(key), item) for key, item in value.items()]
    elif isinstance(value, list | tuple) and any(isinstance(i, Mapping | list) for i in value):
        items = [(f"{path}[{index}]", item) for index, item in enumerate(value)]
    else:
        return {path: value}
    return {place: leaf for key, item in items for place, leaf in _flat(item, key).items()}


def gone(folder: Path) -> DamagedResults:
    """The error for a results folder that lost its manifest."""
    return digests.damaged(folder / FILE, folder, "it is gone")


def _no_results(folder: Path) -> ResultsError:
    what = "is a file, no results folder" if folder.is_file() else "is not a results folder"
    if folder.suffix == ".toml" and folder.is_file():
        remedy = f"It may be a study: `flashcrowd run {folder}` makes its results folder."
    else:
        what, remedy = f"{what} (no {FILE})", "Look for the right path."
    return ResultsError(folder, what, remedy)
