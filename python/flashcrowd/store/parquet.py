"""Parquet files that may come from elsewhere: looked at before they are read.

A few bytes of Parquet can be any number of rows, and a long text in each of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from flashcrowd import _core
from flashcrowd.store.errors import TooLarge

_MOST_BYTES = 1 << 40
"""Where the available memory is unknown."""

_FIXED = {"BOOLEAN": 1, "INT32": 4, "INT64": 8, "FLOAT": 4, "DOUBLE": 8}
"""Bytes of a value in memory; a text has an offset of 4 or 8."""

_CONTAINERS = 1 << 22
"""Most parts of a file's description, of one kind: columns of all row groups."""


def most() -> int:
    """Bytes of memory that may be taken to read a file."""
    return _core.available_memory() or _MOST_BYTES


@contextmanager
def opened(source: Any) -> Iterator[pq.ParquetFile]:
    """A file of which all columns fit into memory.

    Args:
        source: a file that was opened, or its path.

    Raises:
        TooLarge: they do not.
        ValueError: it is no Parquet.
    """
    with pq.ParquetFile(source, thrift_container_size_limit=_CONTAINERS) as file:
        _look(file.metadata, source)
        yield file


def _look(said: pq.FileMetaData, source: Any) -> None:
    available, needed = most(), 0
    for group in range(said.num_row_groups):
        row_group = said.row_group(group)
        for column in range(said.num_columns):
            chunk = row_group.column(column)
            values = max(chunk.num_values, row_group.num_rows)
            written = max(chunk.total_uncompressed_size, chunk.total_compressed_size)
            if values < 0 or written < 0:
                raise ValueError("it says that it has less than nothing")
            width = _FIXED.get(chunk.physical_type)
            needed += written if width is None else max(written, width * values)
            # Each of many rows may have the same long text, which is written once.
            if width is None and values * written > available:
                needed += max(_text_bytes(source, group, chunk.path_in_schema), 4 * values)
            if needed > available:
                raise TooLarge(needed, available)


def _text_bytes(source: Any, group: int, path: str) -> int:
    """Bytes of all texts of a column, counted without writing them out."""
    if hasattr(source, "seek"):
        source.seek(0)
    with pq.ParquetFile(source, read_dictionary=[path]) as file:
        array = file.read_row_group(group, columns=[path]).column(0)
    total = 0
    for chunk in array.chunks:
        while not pa.types.is_dictionary(chunk.type):
            if pa.types.is_struct(chunk.type):
                chunk = chunk.field(0)
            elif pa.types.is_list(chunk.type) or pa.types.is_large_list(chunk.type):
                chunk = chunk.values
            else:
                return total + chunk.nbytes
        lengths = pc.call_function("binary_length", [chunk.dictionary]).cast(pa.int64())
        total += pc.call_function("sum", [lengths.take(chunk.indices)]).as_py() or 0
    return total
