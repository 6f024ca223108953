"""The final tables, from the finished runs, in run order.

Rows go through in portions of fixed size, so that a campaign of any length fits into memory and
the files do not depend on how many rows came at a time: equal runs give equal bytes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from flashcrowd import units
from flashcrowd.store import atomic, schema
from flashcrowd.store.errors import ResultsError
from flashcrowd.store.folder import Folder
from flashcrowd.store.manifest import Manifest

ROW_GROUP = 1 << 17
"""Rows in each row group but the last."""


def assemble(folder: Folder) -> None:
    """Write `tables/`, whole or not at all. Every run must be finished."""
    manifest = folder.manifest
    with atomic.new_folder(folder.path / "tables") as scratch:
        _write(scratch, "runs", _runs_schema(manifest), [_runs(folder)])
        points = pa.schema(list(schema.POINTS.schema), metadata=schema.metadata("points"))
        _write(scratch, "points", points, [_points(manifest)])
        for name, layout in schema.ENGINE_TABLES.items():
            if name != "run":
                _write(scratch, name, layout.final_schema, _rows(folder, layout))
        _write(scratch, "timings", schema.TIMINGS.final_schema, [_timings(folder)])


def _write(
    folder: Path, name: str, layout: pa.Schema, portions: Iterator[pa.Table] | list[pa.Table]
) -> None:
    with pq.ParquetWriter(folder / f"{name}.parquet", layout, compression="zstd") as writer:
        waiting: list[pa.Table] = []
        rows = 0
        for portion in portions:
            waiting.append(portion)
            rows += portion.num_rows
            if rows >= ROW_GROUP:
                together = pa.concat_tables(waiting).combine_chunks()
                full = rows - rows % ROW_GROUP
                for start in range(0, full, ROW_GROUP):
                    writer.write_table(together.slice(start, ROW_GROUP), row_group_size=ROW_GROUP)
                waiting, rows = [together.slice(full)], rows - full
        if rows:
            together = pa.concat_tables(waiting).combine_chunks()
            writer.write_table(together, row_group_size=ROW_GROUP)


def _rows(folder: Folder, layout: schema.Layout) -> Iterator[pa.Table]:
    """A table's rows of each run, with the column `run`."""
    for number, run in enumerate(folder.manifest.runs):
        file = folder.path / "runs" / run.key / f"{layout.name}.parquet"
        if file.exists():
            table = _read(file)
            column = pa.array([number] * table.num_rows, schema.RUN.field.type)
            yield pa.Table.from_arrays([column, *table.columns], schema=layout.final_schema)


def _read(file: Path) -> pa.Table:
    try:
        return pq.ParquetFile(file).read()
    except (pa.ArrowInvalid, OSError) as error:
        raise ResultsError(
            file, f"is damaged: {error}", f"Delete {file.parent} and run the study again."
        ) from error


def _runs_schema(manifest: Manifest) -> pa.Schema:
    keys = [column.field for column in (schema.RUN, *schema.RUN_KEYS)]
    sweep = [pa.field(name, values.type) for name, values in _sweep(manifest).items()]
    rest = list(schema.ENGINE_TABLES["run"].schema)
    return pa.schema([*keys, *sweep, *rest], metadata=schema.metadata("runs"))


def _runs(folder: Folder) -> pa.Table:
    """One row a run: keys, sweep values, and what the engine says of the run."""
    runs = folder.manifest.runs
    layout = schema.ENGINE_TABLES["run"]
    said = [_read(folder.path / "runs" / run.key / "run.parquet") for run in runs]
    points = [run.point for run in runs]
    columns = [
        pa.array(range(len(runs)), pa.int64()),
        pa.array(points, pa.int64()),
        pa.array([run.repeat for run in runs], pa.int64()),
        pa.array([run.seed for run in runs], pa.uint64()),
        *(values.take(pa.array(points, pa.int64())) for values in _sweep(folder.manifest).values()),
        *pa.concat_tables(said or [layout.empty()]).columns,
    ]
    return pa.Table.from_arrays(columns, schema=_runs_schema(folder.manifest))


def _sweep(manifest: Manifest) -> dict[str, pa.Array]:
    """The column of each swept setting, one value a point."""
    fixed = {column.name for column in schema.ENGINE_TABLES["run"].columns}
    fixed |= {column.name for column in (schema.RUN, *schema.RUN_KEYS)}
    columns = {}
    for path in dict.fromkeys(path for point in manifest.points for path in point.values):
        name = f"sweep.{path}" if path in fixed else path
        columns[name] = _typed([point.values.get(path) for point in manifest.points])
    return columns


def _typed(values: Sequence[Any]) -> pa.Array:
    """Numbers stay numbers; everything else is text as written."""
    kinds = {type(value) for value in values if value is not None}
    if kinds == {bool}:
        return pa.array(values, pa.bool_())
    if kinds == {int}:
        return pa.array(values, pa.int64())
    if kinds and kinds <= {int, float}:
        return pa.array(values, pa.float64())
    return pa.array([None if value is None else as_written(value) for value in values], pa.string())


def as_written(value: Any) -> str:
    """A sweep value as text."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def si_number(value: Any) -> float | None:
    """A sweep value in the SI unit of its dimension (s, bit/s, B, share), if it is a number."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    readings: tuple[Callable[[Any], float], ...] = (
        lambda text: units.Span(text).seconds,
        lambda text: units.Rate(text).bps,
        lambda text: units.Size(text).bytes,
        lambda text: units.Share(text).value,
    )
    for reading in readings:
        try:
            return float(reading(value))
        except (ValueError, TypeError):
            continue
    return None


def _points(manifest: Manifest) -> pa.Table:
    rows = []
    for index, point in enumerate(manifest.points):
        for path, value in point.values.items():
            text, number = as_written(value), si_number(value)
            rows.append({"point": index, "path": path, "value": text, "number": number})
    table = pa.Table.from_pylist(rows, schema=schema.POINTS.schema)
    return table.replace_schema_metadata(schema.metadata("points"))


def _timings(folder: Folder) -> pa.Table:
    rows = []
    for number, run in enumerate(folder.manifest.runs):
        cost = folder.card(run)["cost"]
        rows.append({"run": number, **cost})
    return pa.Table.from_pylist(rows, schema=schema.TIMINGS.final_schema)
