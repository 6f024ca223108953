"""The final tables, from the finished runs, in run order.

Rows go through in portions of fixed size, so that a campaign of any length fits into memory and
the files do not depend on how many rows came at a time: equal runs give equal bytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from flashcrowd.store import atomic, schema, swept, verified
from flashcrowd.store.batch import Batch
from flashcrowd.store.binding import Binding
from flashcrowd.store.folder import Folder, RunLocation

ROW_GROUP = 1 << 17
"""Rows in each row group but the last."""


@contextmanager
def assembling(folder: Folder) -> Iterator[Assembly]:
    """Make `tables/`, whole or not at all: it appears when the block ends after `finish`."""
    with atomic.new_folder(folder.path / "tables") as scratch, ExitStack() as files:
        yield Assembly(folder, scratch, files)


class Assembly:
    """The final tables while runs are added to the folder.

    Finished tables are written at once, so that little is left to do when the last run ends.
    """

    def __init__(self, folder: Folder, scratch: Path, files: ExitStack) -> None:
        self.folder = folder
        self._scratch = scratch
        self._files = files
        self._next = 0
        self._open: dict[Path, _Opened] = {}
        self._said: list[pa.Table] = []
        self._tables = {
            name: _Table(self._writer(name, layout.final_schema), layout.final_schema)
            for name, layout in schema.ENGINE_TABLES.items()
            if name != "run"
        }
        self._failed = False

    def advance(self) -> None:
        """Take up all runs from the first on, to the first that is not finished.

        Does nothing after it has failed or was interrupted: the tables will not appear then.
        """
        if self._failed:
            return
        self._failed = True
        runs = self.folder.manifest.runs
        while self._next < len(runs):
            place = self.folder.places.get(runs[self._next])
            if place is None:
                break
            self._take(place)
            self._next += 1
        self._failed = False

    def finish(self) -> None:
        """Take up the rest and close the tables. Every run must be finished."""
        self.advance()
        manifest = self.folder.manifest
        if self._next < len(manifest.runs):
            raise ValueError(f"run {self._next} is not finished")
        for table in self._tables.values():
            table.close()
        self._whole("runs", swept.runs(manifest, self._said))
        self._whole("points", swept.points(manifest))
        self._whole("timings", _timings(self.folder))
        verified.write(self._scratch, Binding.of(self.folder.path, manifest))

    def _take(self, place: RunLocation) -> None:
        opened = self._open.get(place.file)
        if opened is None:
            opened = self._open[place.file] = _Opened(place.file)
        for name, (rows, ends) in opened.tables.items():
            begin, end = int(ends[place.row]), int(ends[place.row + 1])
            if begin == end:
                continue
            if name == "run":
                self._said.append(rows.slice(begin, end - begin))
            else:
                self._tables[name].add(self._next, rows.slice(begin, end - begin))
        opened.left -= 1
        if not opened.left:
            del self._open[place.file]

    def _writer(self, name: str, layout: pa.Schema) -> pq.ParquetWriter:
        path = self._scratch / f"{name}.parquet"
        return self._files.enter_context(pq.ParquetWriter(path, layout, compression="zstd"))

    def _whole(self, name: str, rows: pa.Table) -> None:
        with self._writer(name, rows.schema) as writer:
            if rows.num_rows:
                writer.write_table(rows.combine_chunks(), row_group_size=ROW_GROUP)


class _Opened:
    """A file of finished runs, and how many of them are still to be taken up."""

    def __init__(self, path: Path) -> None:
        self.tables = Batch(path).tables()
        (_, ends) = self.tables["run"]
        self.left = len(ends) - 1


class _Table:
    """One final table, written in row groups of fixed size."""

    def __init__(self, writer: pq.ParquetWriter, layout: pa.Schema) -> None:
        self._writer = writer
        self._layout = layout
        self._rest = schema.no_rows(layout)
        self._waiting: list[pa.Table] = []
        self._numbers: list[int] = []
        self._rows = 0

    def add(self, number: int, rows: pa.Table) -> None:
        """Add the rows of the run with this number."""
        self._waiting.append(rows)
        self._numbers.append(number)
        self._rows += rows.num_rows
        if self._rows >= ROW_GROUP:
            together = self._together()
            full = self._rows - self._rows % ROW_GROUP
            for start in range(0, full, ROW_GROUP):
                part = together.slice(start, ROW_GROUP)
                self._writer.write_table(part, row_group_size=ROW_GROUP)
            self._rest, self._rows = together.slice(full), self._rows - full

    def close(self) -> None:
        """Write what waits."""
        if self._rows:
            self._writer.write_table(self._together(), row_group_size=ROW_GROUP)
        self._writer.close()

    def _together(self) -> pa.Table:
        """All rows that wait, in one piece, with the column `run`."""
        parts = [self._rest]
        if self._waiting:
            numbers = np.repeat(self._numbers, [rows.num_rows for rows in self._waiting])
            rows = pa.concat_tables(self._waiting)
            column = pa.array(numbers, schema.RUN.field.type)
            parts.append(pa.Table.from_arrays([column, *rows.columns], schema=self._layout))
        self._waiting, self._numbers = [], []
        return pa.concat_tables(parts).combine_chunks()


def _timings(folder: Folder) -> pa.Table:
    rows = [
        {"run": number, **folder.places[run].cost}
        for number, run in enumerate(folder.manifest.runs)
    ]
    return pa.Table.from_pylist(rows, schema=schema.TIMINGS.final_schema)
