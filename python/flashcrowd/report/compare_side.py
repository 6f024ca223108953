"""One side of a comparison: a results folder, of whatever version of the tables.

A folder of another version is read column by column, by name. What it lacks is empty, what this
version does not know is left out, and what has another unit is not taken for the same: a notice
lists all of that.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from flashcrowd.base import folder_files
from flashcrowd.report.points import RUN_COLUMNS
from flashcrowd.report.source import Source
from flashcrowd.store import parquet, schema
from flashcrowd.store.digests import reading
from flashcrowd.store.errors import IncompleteResults
from flashcrowd.store.manifest import Manifest
from flashcrowd.store.results import Results
from flashcrowd.store.results import open as open_results
from flashcrowd.store.verified import Verified


class Incomparable(Exception):
    """Results that cannot be put side by side.

    Attributes:
        reasons: why, a sentence each.
    """

    def __init__(self, reasons: Sequence[str]) -> None:
        super().__init__(
            "These results cannot be compared.\n" + "\n".join(f"  {r}" for r in reasons)
        )
        self.reasons = list(reasons)


@dataclass(frozen=True)
class Side:
    """One of the results folders.

    Attributes:
        name: what it is called.
        tables: its tables by name.
        study: its resolved study.
        provenance: where it comes from.
        program: engine and version in words; empty if unknown.
        version: version of its tables.
        columns: what was not taken from its tables, a sentence each.
    """

    name: str
    tables: Mapping[str, pa.Table]
    study: Mapping[str, object]
    provenance: Mapping[str, object] = field(default_factory=dict)
    program: str = ""
    version: int = schema.VERSION
    columns: tuple[str, ...] = ()

    @classmethod
    def of(cls, results: Source, name: str) -> Side:
        """A side from results that are open."""
        manifest = results.manifest if isinstance(results, Results) else None
        return cls(
            name,
            results.tables,
            results.study,
            results.provenance,
            program="" if manifest is None else str(manifest.engine),
        )

    @classmethod
    def opened(cls, path: Path, name: str = "") -> Side:
        """A side from a results folder.

        Raises:
            IncompleteResults: runs are missing.
            ResultsError: it is no results folder, or it is damaged.
        """
        name = name or path.resolve().name
        manifest = Manifest.read(path)
        if manifest.tables == schema.VERSION:
            return cls.of(open_results(path), name)
        if not folder_files.exists(path / "tables", path):
            raise IncompleteResults(path, 0, len(manifest.runs))
        tables, read = _ByName(path, manifest), Results(path, manifest)
        return cls(
            name, tables, read.study, read.provenance,
            str(manifest.engine), manifest.tables, tables.differences(),
        )  # fmt: skip


class _ByName(Mapping[str, pa.Table]):
    """The tables of another version, with the columns that this version has."""

    def __init__(self, path: Path, manifest: Manifest) -> None:
        self._verified = Verified(path, manifest)
        self._folder = self._verified.folder
        self._version = manifest.tables
        swept = dict.fromkeys(path for point in manifest.points for path in point.values)
        self._swept = {f"sweep.{path}" if path in RUN_COLUMNS else path for path in swept}
        self._read: dict[str, pa.Table] = {}

    def __getitem__(self, name: str) -> pa.Table:
        if name not in schema.TABLES or not self._has(name):
            raise KeyError(name)
        if name not in self._read:
            self._read[name] = self._load(name)
        return self._read[name]

    def __iter__(self) -> Iterator[str]:
        return filter(self._has, schema.TABLES)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def differences(self) -> tuple[str, ...]:
        """Columns that are not what they are in this version, a sentence a table."""
        found = []
        for name in self:
            with self._opened(name) as file:
                there = file.schema_arrow
            here = {field.name: field for field in _layout(name)}
            known = {*here, *(self._swept if name == "runs" else ())}
            lacking = [column for column in here if column not in there.names]
            foreign = [column for column in there.names if column not in known]
            other = [column for column in here if _unit_differs(here[column], there)]
            parts = [
                f"{what} {', '.join(columns)}"
                for what, columns in (
                    ("has no", lacking), ("has, unknown here,", foreign),
                    ("has in another unit", other),
                )
                if columns
            ]  # fmt: skip
            if parts:
                found.append(
                    f"{name} (tables of version {self._version}, not {schema.VERSION}) "
                    f"{'; '.join(parts)}."
                )
        return tuple(found)

    def _has(self, name: str) -> bool:
        return folder_files.exists(self._folder / f"{name}.parquet", self._folder.parent)

    @contextmanager
    def _opened(self, name: str) -> Iterator[pq.ParquetFile]:
        path = self._verified.path(f"{name}.parquet")
        with reading(path, self._folder.parent), parquet.opened(path) as file:
            yield file

    def _load(self, name: str) -> pa.Table:
        with self._opened(name) as file:
            table = file.read()
            columns: dict[str, object] = {}
            for place in _layout(name):
                if place.name in table.column_names and not _unit_differs(place, table.schema):
                    columns[place.name] = table.column(place.name).cast(place.type)
                else:
                    columns[place.name] = pa.nulls(table.num_rows, place.type)
            if name == "runs":
                columns |= {c: table.column(c) for c in table.column_names if c in self._swept}
            return pa.table(columns)


def _layout(name: str) -> list[pa.Field]:
    """The columns of a table in this version; of ``runs``, without those of the sweep."""
    if name == "runs":
        run = schema.ENGINE_TABLES["run"].schema
        return [schema.RUN.field, *(column.field for column in schema.RUN_KEYS), *run]
    if name == "points":
        return list(schema.POINTS.schema)
    layout = schema.TIMINGS if name == "timings" else schema.ENGINE_TABLES[name]
    return list(layout.final_schema)


def _unit_differs(here: pa.Field, there: pa.Schema) -> bool:
    if here.name not in there.names:
        return False
    return _unit(here) != _unit(there.field(here.name))


def _unit(of: pa.Field) -> bytes:
    return (of.metadata or {}).get(b"unit", b"")
