"""The manifest as tables: runs with their sweep values, points with their settings."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from flashcrowd.base import units
from flashcrowd.store import schema
from flashcrowd.store.manifest import Manifest


def runs(manifest: Manifest, said: Sequence[pa.Table]) -> pa.Table:
    """One row a run: keys, sweep values, and what the engine says of the run."""
    keys = _keys(manifest)
    rest = pa.concat_tables([schema.ENGINE_TABLES["run"].empty(), *said])
    columns = [*keys.columns, *rest.columns]
    return pa.Table.from_arrays(columns, schema=_runs_schema(keys.schema))


def _keys(manifest: Manifest) -> pa.Table:
    """The columns of `runs` by which a run is known."""
    points = pa.array([run.point for run in manifest.runs], pa.int64())
    sweep = {name: values.take(points) for name, values in _sweep(manifest).items()}
    columns = [
        pa.array(range(len(manifest.runs)), pa.int64()),
        points,
        pa.array([run.repeat for run in manifest.runs], pa.int64()),
        pa.array([run.seed for run in manifest.runs], pa.uint64()),
        *sweep.values(),
    ]
    fields = [column.field for column in (schema.RUN, *schema.RUN_KEYS)]
    fields += [pa.field(name, values.type) for name, values in sweep.items()]
    return pa.Table.from_arrays(columns, schema=pa.schema(fields))


def _runs_schema(keys: pa.Schema) -> pa.Schema:
    rest = schema.ENGINE_TABLES["run"].schema
    return pa.schema([*keys, *rest], metadata=schema.metadata("runs"))


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


def points(manifest: Manifest) -> pa.Table:
    """One row a swept setting of a point."""
    rows = []
    for index, point in enumerate(manifest.points):
        for path, value in point.values.items():
            text, number = as_written(value), si_number(value)
            rows.append({"point": index, "path": path, "value": text, "number": number})
    table = pa.Table.from_pylist(rows, schema=schema.POINTS.schema)
    return table.replace_schema_metadata(schema.metadata("points"))


def check(name: str, table: pa.Table, manifest: Manifest) -> None:
    """Hold a final table against what the manifest says of its columns and its runs.

    Raises:
        ValueError: it is not of this manifest.
    """
    keys = _keys(manifest)
    if name == "runs":
        wanted = _runs_schema(keys.schema)
    elif name == "points":
        wanted = schema.POINTS.schema
    else:
        layout = schema.TIMINGS if name == "timings" else schema.ENGINE_TABLES[name]
        wanted = layout.final_schema
    if not table.schema.equals(wanted):
        raise ValueError(f"its columns are not those of the table {name}")
    for field, column in zip(wanted, table.columns, strict=True):
        if column.null_count and not field.nullable:
            raise ValueError(f"its column {field.name} lacks values")
    if name == "points":
        same = table.equals(points(manifest))
    elif name == "runs":
        same = table.select(keys.column_names).equals(keys)
    else:
        bounds = pc.call_function("min_max", [table.column("run")]).as_py()
        same = not table.num_rows or (bounds["min"] >= 0 and bounds["max"] < len(manifest.runs))
    if not same:
        raise ValueError(f"it is of other {name if name == 'points' else 'runs'} than the manifest")
