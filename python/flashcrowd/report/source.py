"""The source of a report: tables, the resolved study and its provenance. Nothing else.

A report never asks an engine; it reads what a results folder holds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Protocol

import numpy as np
import pyarrow as pa


class Source(Protocol):
    """The part of ``flashcrowd.Results`` that reports use."""

    @property
    def tables(self) -> Mapping[str, pa.Table]:
        """Tables by name; a table that the study did not ask for may be absent or empty."""
        ...

    @property
    def study(self) -> Mapping[str, Any]:
        """The resolved study, every default written out."""
        ...

    @property
    def provenance(self) -> Mapping[str, Any]:
        """Version, commit, machine, time, format versions."""
        ...


def table(source: Source, name: str) -> pa.Table | None:
    """The table called `name`, or ``None`` if it is absent or has no rows."""
    if name not in source.tables:
        return None
    found = source.tables[name]
    return found if found.num_rows else None


def numbers(rows: pa.Table, column: str) -> np.ndarray:
    """A numeric column as 64-bit floats, nulls as NaN."""
    array = rows.column(column).combine_chunks()
    return np.asarray(array.cast(pa.float64()).to_numpy(zero_copy_only=False), dtype=float)


def integers(rows: pa.Table, column: str) -> np.ndarray:
    """An integer column without nulls as 64-bit integers."""
    array = rows.column(column).combine_chunks()
    return np.asarray(array.cast(pa.int64()).to_numpy(zero_copy_only=False))


def strings(rows: pa.Table, column: str) -> np.ndarray:
    """A text column (dictionary-encoded or not) as an array of ``str``."""
    return np.asarray(rows.column(column).cast(pa.string()).to_pylist(), dtype=object)


def distinct(rows: pa.Table, column: str) -> list[str]:
    """The values of a text column, each once, in order of appearance."""
    return list(dict.fromkeys(rows.column(column).cast(pa.string()).to_pylist()))


def where(rows: pa.Table, column: str, value: str) -> pa.Table:
    """The rows whose text `column` has this `value`."""
    return rows.filter(pa.array(strings(rows, column) == value, type=pa.bool_()))


def of(rows: pa.Table, column: str, number: int) -> pa.Table:
    """The rows whose integer `column` has this value."""
    return rows.filter(pa.array(integers(rows, column) == number, type=pa.bool_()))


def section(value: object) -> Mapping[str, Any]:
    """A table of the resolved study; empty if there is none."""
    return value if isinstance(value, Mapping) else {}


def by_run(runs: np.ndarray, chosen: np.ndarray | None = None) -> Iterator[tuple[int, np.ndarray]]:
    """Each run with the indices of its rows, of those `chosen` if a mask is given."""
    rows = np.arange(len(runs)) if chosen is None else np.flatnonzero(chosen)
    if not len(rows):
        return
    order = rows[np.argsort(runs[rows], kind="stable")]
    distinct, starts = np.unique(runs[order], return_index=True)
    for run, members in zip(distinct, np.split(order, starts[1:]), strict=True):
        yield int(run), members
