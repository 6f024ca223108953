"""Files of qlog (draft-ietf-quic-qlog-main-schema), one for each log."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Literal

import numpy as np
import pyarrow as pa

from flashcrowd.base import folder_files
from flashcrowd.base.rows import Row
from flashcrowd.qlog.events import Event, events
from flashcrowd.report.source import Source, integers, of, table
from flashcrowd.store import atomic

VERSION = "0.3"
"""The version that tools read: draft-ietf-quic-qlog-main-schema-02 and its successors to -05."""

Format = Literal["json", "json-seq"]

_SUFFIX: dict[Format, str] = {"json": ".qlog", "json-seq": ".sqlog"}
_CHUNK = 20_000
"""Rows at a time."""
_SIDES: tuple[Literal["left"], Literal["right"]] = ("left", "right")


def write(results: Source, out: Path, *, run: int = 0, format: Format = "json-seq") -> list[Path]:
    """Writes the logs of a run, one file each.

    Args:
        results: a results folder whose study has `measures.connections`.
        out: the folder for the files; made if it is not there.
        run: number of the run.
        format: JSON Text Sequences (RFC 7464), or one JSON object.

    Returns:
        The files, in the order of the logs; none if the run logged nothing.
    """
    ends, rows = (table(results, name) for name in ("connections", "connection_events"))
    if ends is None or rows is None:
        return []
    ends, rows = (of(each, "run", run) for each in (ends, rows))
    numbers = integers(rows, "connection")
    order = np.argsort(numbers, kind="stable")  # the events of one stay in the order of time
    rows, numbers = rows.take(pa.array(order)), numbers[order]
    out.mkdir(parents=True, exist_ok=True)
    files = []
    for end in ends.to_pylist():
        first, last = (int(np.searchsorted(numbers, end["connection"], side)) for side in _SIDES)
        made = events(_dictionaries(rows.slice(first, last - first)), end)
        of_what = folder_files.name_of(f"{end['workload']}-{end['host']}")
        path = out / f"run-{run}-{end['connection']}-{of_what}{_SUFFIX[format]}"
        with atomic.new_file(path) as scratch, scratch.open("w", encoding="utf-8") as file:
            file.writelines(_records(_header(end, results, format), made, format))
        files.append(path)
    return files


def _dictionaries(rows: pa.Table) -> Iterator[Row]:
    for batch in rows.to_batches(max_chunksize=_CHUNK):
        for row in batch.to_pylist():
            yield {name: value for name, value in row.items() if value is not None}


def _header(end: Row, results: Source, format: Format) -> dict[str, object]:
    """The header of the events."""
    trace = {
        "title": f"{end['workload']} {end['member']}: {end['host']} to {end['remote']}",
        "description": f"{end['transport']}, {end['stack']}, {end['controller']}",
        "vantage_point": {"name": end["host"], "type": end["role"]},
        "common_fields": {
            "time_format": "relative",
            "reference_time": 0,
            "protocol_type": [end["transport"].upper()],
            "group_id": f"{end['run']}-{end['connection']}",
        },
        "configuration": {"code_version": f"flashcrowd {version('flashcrowd')}"},
    }
    kind = "JSON-SEQ" if format == "json-seq" else "JSON"
    title = str(results.study.get("title", ""))
    head: dict[str, object] = {"qlog_version": VERSION, "qlog_format": kind, "title": title}
    return head | {"trace": trace}


def _records(header: Event, made: Iterator[Event], format: Format) -> Iterator[str]:
    if format == "json-seq":
        for record in (header, *made):
            yield f"\x1e{_json(record)}\n"
        return
    trace = header.pop("trace")
    yield f'{_json(header)[:-1]},"traces":[{_json(trace)[:-1]},"events":[\n'
    for number, event in enumerate(made):
        yield (",\n" if number else "") + _json(event)
    yield "\n]}]}\n"


def _json(value: dict[str, object]) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
