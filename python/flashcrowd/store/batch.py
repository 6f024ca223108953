"""A file of finished runs: one row a run, each of its tables a column of lists of rows.

Short runs are kept many to a file, so that they share the cost of the file. A file appears whole or
not at all. Its name ends in its digest: a change by the disk is an error, never a number.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from flashcrowd.base import folder_files
from flashcrowd.store import atomic, digests, parquet, schema
from flashcrowd.store.errors import DamagedResults
from flashcrowd.store.manifest import Run

_COST = [column.field for column in schema.TIMINGS.columns]
_HEAD = [
    pa.field("point", pa.int64(), nullable=False),
    pa.field("repeat", pa.int64(), nullable=False),
    pa.field("seed", pa.uint64(), nullable=False),
    pa.field("plan", pa.string(), nullable=False),
    *_COST,
]
_NAMES = [field.name for field in _HEAD]
_ENGINE = b"flashcrowd.engine"


@dataclass(frozen=True)
class Card:
    """A file's entry for one of its runs.

    Attributes:
        run: which one.
        plan: digest of its plan.
        cost: columns of the table `timings`.
    """

    run: Run
    plan: str
    cost: Mapping[str, object]


def write(
    folder: Path,
    stem: str,
    cards: Sequence[Card],
    runs: Sequence[Mapping[str, pa.Table]],
    engine: str,
) -> Path:
    """Write a file of runs, whole or not at all; gives its path.

    Args:
        folder: the results folder.
        stem: how the file's name begins; its digest follows.
        cards: what to say of each run.
        runs: the tables of each run; empty ones may be left out.
        engine: digest of the engine that made them.

    Raises:
        ValueError: the tables are not those of `schema.ENGINE_TABLES`.
        ResultsError: the disk is full, or the like.
    """
    columns: dict[str, pa.Array] = {
        "point": pa.array([card.run.point for card in cards], pa.int64()),
        "repeat": pa.array([card.run.repeat for card in cards], pa.int64()),
        "seed": pa.array([card.run.seed for card in cards], pa.uint64()),
        "plan": pa.array([card.plan for card in cards], pa.string()),
    }
    for field in _COST:
        columns[field.name] = pa.array([card.cost[field.name] for card in cards], field.type)
    fields = list(_HEAD)
    for name in _names(runs):
        columns[name] = _lists(name, runs)
        fields.append(pa.field(name, columns[name].type, nullable=False))
    layout = pa.schema(fields, metadata={_ENGINE: engine})
    table = pa.Table.from_arrays(list(columns.values()), schema=layout)
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd", write_page_checksum=True)
    data = sink.getvalue().to_pybytes()
    path = folder / "runs" / f"{stem}.{digests.of(data)[: digests.SHORT]}.parquet"
    atomic.write_bytes(path, data, folder)
    return path


def _names(runs: Sequence[Mapping[str, pa.Table]]) -> list[str]:
    """Tables with rows, in the order of the schema."""
    for tables in runs:
        unknown = sorted(tables.keys() - schema.ENGINE_TABLES.keys())
        if unknown or "run" not in tables:
            raise ValueError(f"tables of a run: unknown {unknown}, got {sorted(tables)}")
        if tables["run"].num_rows != 1:
            raise ValueError(f"tables of a run: `run` has {tables['run'].num_rows} rows, not one")
    filled = {name for tables in runs for name, table in tables.items() if table.num_rows}
    return [name for name in schema.ENGINE_TABLES if name in filled]


def _lists(name: str, runs: Sequence[Mapping[str, pa.Table]]) -> pa.ListArray:
    """The rows of one table, a list for each run."""
    layout = schema.ENGINE_TABLES[name]
    given = [tables[name] for tables in runs if name in tables and tables[name].num_rows]
    different = next((table for table in given if table.schema != given[0].schema), None)
    if different is not None:
        given = [layout.cast(table) for table in given]
    rows = layout.cast(pa.concat_tables(given))
    counts = [tables[name].num_rows if name in tables else 0 for tables in runs]
    offsets = pa.array(np.concatenate(([0], np.cumsum(counts))), pa.int32())
    arrays = [_whole(column) for column in rows.columns]
    fields = [field.remove_metadata() for field in layout.schema]
    values = pa.StructArray.from_arrays(arrays, fields=fields)
    kind = pa.list_(pa.field("row", values.type, nullable=False))
    return pa.ListArray.from_arrays(offsets, values, type=kind)


def _whole(column: pa.ChunkedArray) -> pa.Array:
    """A column in one piece."""
    whole = column.combine_chunks()
    return whole.combine_chunks() if isinstance(whole, pa.ChunkedArray) else whole


def files(folder: Path) -> list[Path]:
    """The files of finished runs in a results folder, in order of their names.

    Raises:
        ResultsError: what they should be in is no folder.
    """
    runs = folder / "runs"
    with digests.reading(runs, folder):
        names = folder_files.names(runs, folder)
    return [runs / name for name in names if name.startswith("p") and name.endswith(".parquet")]


def runs_of(folder: Path) -> Iterator[Run]:
    """The runs in those files of a results folder that are what was written."""
    for file in files(folder):
        with suppress(DamagedResults):
            yield from (card.run for card in Batch(file).cards()[1])


def digest_of(file: Path) -> str:
    """The digest in the name of a file of finished runs; empty if there is none."""
    return file.name.split(".")[-2] if file.name.count(".") > 1 else ""


class Batch:
    """A file of finished runs, read."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def cards(self) -> tuple[str, list[Card]]:
        """The digest of the engine, and what the file says of each run.

        Raises:
            DamagedResults: it is not what was written.
            ResultsError: it cannot be read.
        """
        with self._opened() as file:
            engine = (file.schema_arrow.metadata or {})[_ENGINE].decode()
            rows = file.read(columns=_NAMES).to_pylist()
            costs = [field.name for field in _COST]
            return engine, [
                Card(
                    Run(row["point"], row["repeat"], row["seed"]),
                    row["plan"],
                    {name: row[name] for name in costs},
                )
                for row in rows
            ]

    def tables(self) -> dict[str, tuple[pa.Table, np.ndarray]]:
        """The rows of each table, and where those of each run begin and the last ones end.

        Raises:
            DamagedResults: it is not what was written.
            ResultsError: it cannot be read.
        """
        found = {}
        with self._opened() as file:
            names = [name for name in file.schema_arrow.names if name in schema.ENGINE_TABLES]
            read = file.read(columns=names)
            for name in names:
                lists = _whole(read.column(name))
                layout = schema.ENGINE_TABLES[name].schema
                rows = pa.Table.from_arrays(lists.values.flatten(), schema=layout)
                found[name] = (rows, lists.offsets.to_numpy())
        return found

    def ends(self) -> list[tuple[str, str]]:
        """How each run ended, and why, see `schema.RUNS`.

        Raises:
            DamagedResults: it is not what was written.
            ResultsError: it cannot be read.
        """
        with self._opened() as file:
            rows = file.read(columns=["run"]).column("run").to_pylist()
        return [(row["outcome"], row["reason"]) for (row,) in rows]

    @contextmanager
    def _opened(self) -> Iterator[pq.ParquetFile]:
        """The file, once it was held against the digest in its name."""
        folder = self.path.parent.parent
        with digests.reading(self.path, folder):
            data = folder_files.read(self.path, folder, parquet.most())
            if digests.of(data)[: digests.SHORT] != digest_of(self.path):
                raise ValueError("its digest is not that of its name")
            with parquet.opened(pa.BufferReader(data)) as file:
                yield file
