"""Results, read: the tables of a folder, its study, and where it comes from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from flashcrowd.store import schema
from flashcrowd.store.batch import Batch, files
from flashcrowd.store.errors import IncompleteResults, ResultsError
from flashcrowd.store.folder import read_json
from flashcrowd.store.manifest import Manifest
from flashcrowd.store.provenance import FILE as PROVENANCE


class Tables(Mapping[str, pa.Table]):
    """Tables by name, each read when it is first asked for."""

    def __init__(self, folder: Path, runs: pa.Array | None = None) -> None:
        self._folder = folder
        self._runs = runs
        self._read: dict[str, pa.Table] = {}

    def __getitem__(self, name: str) -> pa.Table:
        if name not in schema.TABLES:
            raise KeyError(name)
        if name not in self._read:
            self._read[name] = self._load(name)
        return self._read[name]

    def __iter__(self) -> Iterator[str]:
        return iter(schema.TABLES)

    def __len__(self) -> int:
        return len(schema.TABLES)

    def path(self, name: str) -> Path:
        """The Parquet file of a table; for tables too large to read at once."""
        if name not in schema.TABLES:
            raise KeyError(name)
        return self._folder / f"{name}.parquet"

    def _load(self, name: str) -> pa.Table:
        file = self.path(name)
        try:
            table = pq.ParquetFile(file).read()
        except (pa.ArrowInvalid, OSError) as error:
            raise ResultsError(
                file,
                f"is damaged: {error}",
                f"Delete {self._folder} and run the study again: the tables are made anew "
                "from the finished runs.",
            ) from error
        if self._runs is not None and "run" in table.column_names:
            table = table.filter(pc.field("run").isin(self._runs))
        return table


class Results:
    """What a study gave. Made by `flashcrowd.run` and `flashcrowd.open`.

    Every table is an attribute and a `pyarrow.Table`, which polars and pandas take as it is:
    ``polars.DataFrame(results.downloads)``.

    Attributes:
        path: the results folder.
        tables: name to table, see `docs/tables.md`.
    """

    def __init__(self, path: Path, manifest: Manifest, runs: pa.Array | None = None) -> None:
        self.path = path
        self.manifest = manifest
        self.tables = Tables(path / "tables", runs)
        self._files: dict[str, Mapping[str, Any]] = {}

    @property
    def study(self) -> Mapping[str, Any]:
        """The resolved study, every default written out."""
        return self._json("study.json")

    @property
    def provenance(self) -> Mapping[str, Any]:
        """Version, commit, seeds, machine, and each session that added runs."""
        return self._json(PROVENANCE)

    def _json(self, name: str) -> Mapping[str, Any]:
        if name not in self._files:
            self._files[name] = read_json(self.path / name)
        return self._files[name]

    def __getattr__(self, name: str) -> pa.Table:
        if name in schema.TABLES:
            return self.tables[name]
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *schema.TABLES})

    def plan(self, point: int) -> str:
        """The plan of a point as JSON."""
        return (self.path / "plans" / f"p{point:04d}.json").read_text(encoding="utf-8")

    def with_timings(self) -> pa.Table:
        """The table `runs` with the columns of `timings` beside."""
        joined = self.tables["runs"].join(self.tables["timings"], "run", join_type="left outer")
        return joined.sort_by("run")

    def where(self, settings: Mapping[str, Any]) -> Results:
        """The same results, but only the runs whose columns have these values.

        Args:
            settings: column of `runs` to value, as in ``{"network.rtt": "400 ms"}``.
        """
        runs = self.tables["runs"]
        for name, value in settings.items():
            if name not in runs.column_names:
                known = ", ".join(runs.column_names)
                raise KeyError(f"no column {name!r} in runs; there are {known}")
            runs = runs.filter(pc.field(name) == value)
        return Results(self.path, self.manifest, runs.column("run").combine_chunks())

    def __repr__(self) -> str:
        points = len(self.manifest.points)
        return f"<Results {str(self.path)!r}: {self.tables['runs'].num_rows} runs, {points} points>"


def open(path: str | Path) -> Results:
    """The results in a folder.

    Raises:
        IncompleteResults: runs are missing; running the study again adds them.
        ResultsError: it is no results folder, or it is damaged.
    """
    folder = Path(path)
    manifest = Manifest.read(folder)
    if manifest.tables != schema.VERSION:
        raise ResultsError(
            folder,
            f"has version {manifest.tables} of the tables, this flashcrowd has {schema.VERSION}",
            "Use the version that wrote it, see provenance.json, or run the study again.",
        )
    if not (folder / "tables").is_dir():
        done = sum(len(Batch(file).cards()[1]) for file in files(folder))
        raise IncompleteResults(folder, done, len(manifest.runs))
    return Results(folder, manifest)
