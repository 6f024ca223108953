"""Results, read: the tables of a folder, its study, and where it comes from."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from flashcrowd.base import folder_files
from flashcrowd.base.errors import did_you_mean
from flashcrowd.store import digests, html, parquet, provenance, schema, swept
from flashcrowd.store.batch import files
from flashcrowd.store.binding import MOVE, Binding, cards_of
from flashcrowd.store.errors import IncompleteResults, OtherFormat, ResultsError, Unknown
from flashcrowd.store.html import amount
from flashcrowd.store.manifest import STUDY, Manifest
from flashcrowd.store.verified import Verified


class Tables(Mapping[str, pa.Table]):
    """Tables by name, each read, and held against its digest, when it is first asked for."""

    def __init__(self, files: Verified, runs: pa.Array | None = None) -> None:
        self._files = files
        self._runs = runs
        self._read: dict[str, pa.Table] = {}

    def __getitem__(self, name: str) -> pa.Table:
        if name not in self._read:
            self._read[name] = self._load(name)
        return self._read[name]

    def __iter__(self) -> Iterator[str]:
        return iter(schema.TABLES)

    def __len__(self) -> int:
        return len(schema.TABLES)

    def path(self, name: str) -> Path:
        """The Parquet file of a table; for tables too large to read at once.

        Raises:
            KeyError: there is no such table; it lists those that there are.
            DamagedResults: the file is not what was written.
        """
        if name not in schema.TABLES:
            raise Unknown(f"no {no_table(name)}")
        return self._files.path(f"{name}.parquet")

    def rows(self) -> dict[str, int]:
        """How many rows each table has; the tables are not read for it."""
        if self._runs is not None:
            return {name: self[name].num_rows for name in self}
        found = {}
        for name in self:
            with self._opened(name) as file:
                found[name] = file.metadata.num_rows
        return found

    def _load(self, name: str) -> pa.Table:
        with self._opened(name) as file:
            table = file.read()
            swept.check(name, table, self._files.manifest)
        if self._runs is not None and "run" in table.column_names:
            table = table.filter(pc.field("run").isin(self._runs))
        return table

    @contextmanager
    def _opened(self, name: str) -> Iterator[pq.ParquetFile]:
        path = self.path(name)
        with digests.reading(path, path.parent.parent), parquet.opened(path) as file:
            yield file

    def __repr__(self) -> str:
        try:
            listed = "\n".join(f"  {name}: {amount(rows)}" for name, rows in self.rows().items())
        except ResultsError as error:
            listed = f"  {error}"
        return f"<Tables of {str(self._files.folder.parent)!r}\n{listed}>"

    def _repr_html_(self) -> str:
        try:
            return html.tables(self.rows())
        except ResultsError as error:
            return html.text(str(error))


class Results:
    """What a study gave. `flashcrowd.run` and `flashcrowd.open` add what reports know of it.

    Every table is an attribute and a `pyarrow.Table`. ``polars.DataFrame(results.downloads)`` takes
    it as it is; for pandas it is ``results.downloads.to_pandas()``.

    Attributes:
        path: the results folder.
        tables: name to table, see `docs/tables.md`.
    """

    def __init__(
        self,
        path: Path,
        manifest: Manifest,
        runs: pa.Array | None = None,
        files: Verified | None = None,
    ) -> None:
        self.path = path
        self.manifest = manifest
        self._verified = files or Verified(path, manifest)
        self.tables = Tables(self._verified, runs)
        self._files: dict[str, Mapping[str, Any]] = {}

    @property
    def binding(self) -> Binding:
        """Which runs of the folder the tables are made from.

        Raises:
            DamagedResults: what says it is not what was written.
            ForeignResults: the tables are of another results folder.
        """
        return self._verified.binding

    @property
    def study(self) -> Mapping[str, Any]:
        """The resolved study, every default written out."""
        if STUDY not in self._files:
            with digests.reading(self.path / STUDY, self.path):
                study = json.loads(self._written(STUDY))
                if not isinstance(study, dict):
                    raise ValueError("it is no table")
            self._files[STUDY] = study
        return self._files[STUDY]

    @property
    def provenance(self) -> Mapping[str, Any]:
        """Version, commit, seeds, machine, and each session that added runs."""
        if provenance.FILE not in self._files:
            read = provenance.read(self.path, self.binding.runs)
            self._files[provenance.FILE] = read
        return self._files[provenance.FILE]

    def _written(self, name: str) -> str:
        """The text of a file whose digest is in the manifest."""
        digest = self.manifest.files.get(name)
        return digests.read_verified(self.path / name, self.path, digest).decode()

    def __getattr__(self, name: str) -> pa.Table:
        if name in schema.TABLES:
            return self.tables[name]
        raise AttributeError(f"{type(self).__name__!r} object has no attribute or {no_table(name)}")

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *schema.TABLES})

    def plan(self, point: int) -> str:
        """The plan of a point as JSON."""
        if not 0 <= point < len(self.manifest.points):
            raise IndexError(f"no point {point}; there are {len(self.manifest.points)}, from 0")
        return self._written(f"plans/p{point:04d}.json")

    def with_timings(self) -> pa.Table:
        """The table `runs` with the columns of `timings` beside."""
        joined = self.tables["runs"].join(self.tables["timings"], "run", join_type="left outer")
        return joined.sort_by("run")

    def where(self, settings: Mapping[str, object]) -> Self:
        """The same results, but only the runs whose columns have these values.

        Args:
            settings: column of `runs` to value, as in ``{"network.rtt": "400 ms"}``.
        """
        runs = self.tables["runs"]
        for name, value in settings.items():
            if name not in runs.column_names:
                known = ", ".join(runs.column_names)
                hint = did_you_mean(name, runs.column_names)
                raise Unknown(named(f"no column {name!r} in runs; there are {known}", hint))
            runs = runs.filter(pc.field(name) == value)
        chosen = runs.column("run").combine_chunks()
        return type(self)(self.path, self.manifest, chosen, self._verified)

    def __repr__(self) -> str:
        try:
            runs = amount(self.tables["runs"].num_rows, "run")
        except ResultsError as error:
            return f"<Results {str(self.path)!r}: {error}>"
        points = amount(len(self.manifest.points), "point")
        return f"<Results {str(self.path)!r}: {runs}, {points}; tables {', '.join(schema.TABLES)}>"


def open(path: str | Path) -> Results:
    """The results in a folder.

    Raises:
        IncompleteResults: runs are missing; running the study again adds them.
        DamagedResults: a file is not what was written; it names the command that mends it.
        ForeignResults: the tables are of another results folder.
        ResultsError: it is no results folder, another version wrote it, or runs are of another.
    """
    folder = Path(path)
    manifest = Manifest.read(folder)
    if manifest.tables != schema.VERSION:
        raise OtherFormat(
            folder,
            f"has version {manifest.tables} of the tables, this flashcrowd has {schema.VERSION}",
            "Use the version that wrote it, see provenance.json, or run the study with --fresh.",
        )
    if not folder_files.exists(folder / "tables", folder):
        done = {card.run for file in files(folder) for card in cards_of(file, manifest, MOVE)}
        raise IncompleteResults(folder, len(done), len(manifest.runs))
    results = Results(folder, manifest)
    _ = results.binding
    return results


def no_table(name: str) -> str:
    """The message where there is no table of this name."""
    known = ", ".join(schema.TABLES)
    return named(f"table {name!r}; there are {known}", did_you_mean(name, schema.TABLES))


def named(what: str, hint: str) -> str:
    """An error with its hint, if there is one."""
    return f"{what}; {hint}" if hint else what
