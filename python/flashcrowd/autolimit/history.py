"""The history of a run, as Parquet: a row a second, and the remarks between them."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from flashcrowd.autolimit.session import Status
from flashcrowd.base import folder_files
from flashcrowd.base.rows import Row
from flashcrowd.client_api.client import Refused
from flashcrowd.store import atomic, parquet
from flashcrowd.store.errors import ResultsError, TooLarge, refused

MANIFEST = "autolimit.json"
"""The file by which a folder is known to hold such a history."""
FORMAT = 1
ROW_NS = 10**9
"""Nanoseconds between two rows at least."""
KEEP_ROWS = 30
"""The file is rewritten after this number of rows: a killed run loses at most half a minute."""
PART_ROWS = 3600
"""A new file begins after this number of rows, an hour."""
SCHEMA = pa.schema(
    [
        pa.field("time", pa.timestamp("ms", tz="UTC"), nullable=False),
        pa.field("up_bytes_per_s", pa.float64()),
        pa.field("down_bytes_per_s", pa.float64()),
        pa.field("limit_bytes_per_s", pa.int64()),
        pa.field("wanted_bytes_per_s", pa.int64()),
        pa.field("delay_ms", pa.float64()),
        pa.field("decided_ms", pa.float64()),
        pa.field("threshold_ms", pa.float64()),
        pa.field("phase", pa.string(), nullable=False),
        pa.field("reason", pa.string(), nullable=False),
        pa.field("remark", pa.string()),
    ]
)
"""The columns; see `Status`. The delay is that of the last answer over its reflector's least."""


class History:
    """Writes a history into a folder; another run goes on in it.

    Attributes:
        failed: why nothing is written any more, as on a full disk; empty if all is well.
    """

    def __init__(self, folder: Path, **manifest: Any) -> None:
        """Opens the folder.

        Raises:
            Refused: it cannot be written, or holds something else.
        """
        self._folder = folder
        self._rows: list[Row] = []
        self._written = 0
        self._shown: int | None = None
        self._remarks: list[str] = []
        self.failed = ""
        try:
            folder.mkdir(parents=True, exist_ok=True)
            if not folder_files.exists(folder / MANIFEST, folder):
                if any(folder.iterdir()):
                    raise Refused(f"--history {folder}: there is something else in this folder.")
                atomic.write_json(folder / MANIFEST, {"format": FORMAT, **manifest})
        except (OSError, ResultsError) as error:
            raise Refused(f"--history {folder}: {_why(error)}.") from None
        self._part = 1 + max((int(path.stem[-6:]) for path in parts(folder)), default=0)

    def remark(self, now: int, text: str) -> None:
        """Something that a person should know."""
        self._remarks.append(text)

    def status(self, now: int, status: Status) -> None:
        """A row, if the last one is old enough."""
        if self.failed or (self._shown is not None and now - self._shown < ROW_NS):
            return
        self._shown = now
        remark, self._remarks = "; ".join(self._remarks) or None, []
        self._rows.append(
            {
                "time": int(time.time() * 1e3),
                "up_bytes_per_s": status.up,
                "down_bytes_per_s": status.down,
                "limit_bytes_per_s": status.limit,
                "wanted_bytes_per_s": status.wanted,
                "delay_ms": _millis(status.delay),
                "decided_ms": _millis(status.decided),
                "threshold_ms": _millis(status.threshold),
                "phase": status.phase,
                "reason": status.reason,
                "remark": remark,
            }
        )
        if len(self._rows) - self._written >= KEEP_ROWS:
            self.flush()
        if len(self._rows) >= PART_ROWS:
            self.flush()
            self._part += 1
            self._rows, self._written = [], 0

    def flush(self) -> None:
        """Write what is not on disk yet."""
        if len(self._rows) > self._written:
            try:
                with atomic.new_file(self._folder / f"history-{self._part:06d}.parquet") as path:
                    pq.write_table(pa.Table.from_pylist(self._rows, SCHEMA), path)
            except (OSError, ResultsError) as error:
                # The limit is what matters; the run goes on without a history.
                self.failed = _why(error)
            self._written = len(self._rows)


def _why(error: OSError | ResultsError) -> str:
    """In one line; the remedy of results is that of a study."""
    if isinstance(error, ResultsError):
        return f"{error.path} {error.what}"
    return f"it cannot be written: {error.strerror or error}"


def parts(folder: Path) -> list[Path]:
    """The files of a history, oldest first."""
    return sorted(folder.glob("history-[0-9][0-9][0-9][0-9][0-9][0-9].parquet"))


def read(folder: Path) -> tuple[dict[str, object], pa.Table]:
    """The content of the manifest, and all rows.

    Raises:
        ResultsError: there are none, or they cannot be read.
    """
    hint = "Run `flashcrowd autolimit ... --history FOLDER` for at least half a minute."
    try:
        manifest = json.loads(folder_files.read(folder / MANIFEST, folder).decode())
        if manifest.get("format") != FORMAT:
            raise ResultsError(folder, "is a history of another version of flashcrowd", hint)
        found = [_rows(path) for path in parts(folder)]
    except folder_files.Refused as error:
        raise refused(error) from None
    except (OSError, ValueError, LookupError, AttributeError, RuntimeError, TooLarge) as error:
        raise ResultsError(folder, f"is no history that can be read: {error}", hint) from None
    if not found or not sum(map(len, found)):
        raise ResultsError(folder, "has no rows yet", hint)
    return manifest, pa.concat_tables(found)


def _rows(path: Path) -> pa.Table:
    with folder_files.opened(path) as source, parquet.opened(source) as file:
        return file.read(columns=SCHEMA.names).cast(SCHEMA)


def _millis(nanoseconds: int | None) -> float | None:
    return None if nanoseconds is None else nanoseconds / 1e6


def remarks(table: pa.Table) -> Iterator[tuple[float, str]]:
    """Seconds since the first row, and the remark at that time."""
    times = table["time"].cast(pa.int64()).to_pylist()
    for at, text in zip(times, table["remark"].to_pylist(), strict=True):
        if text is not None:
            yield (at - times[0]) / 1e3, text
