"""What a report tells of content servers: memory, disk and files, from tables that are known."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from flashcrowd.drawing.blocks import Cell, Table
from flashcrowd.report import listings
from flashcrowd.report.points import Points, points_of


@dataclass
class Known:
    """What a report reads."""

    tables: dict[str, pa.Table]
    study: dict[str, Any] = field(default_factory=dict)
    provenance: dict[str, Any] = field(default_factory=dict)


def points(runs: int = 1) -> Points:
    common = {"point": 0, "outcome": "completed", "reason": "", "end_s": 9.0}
    rows = [{"run": it, "repeat": it, "seed": it, **common} for it in range(runs)]
    return points_of(Known({"runs": pa.Table.from_pylist(rows)}))


def texts(table: Table) -> list[list[str]]:
    """The rows of a table without what stands below its numbers."""
    return [[it.text if isinstance(it, Cell) else it for it in row] for row in table.rows]


def server(run: int, name: str, **more: Any) -> dict[str, Any]:
    return {
        "run": run, "origin": name, "downloads": 4, "sent_bytes": 40_000_000,
        "read_bytes": 10_000_000, "blocks": 600, "hits": 450, "evictions": 3, "residence_s": 1.5,
        **more,
    }  # fmt: skip


def file(run: int, number: int, sent: int, read: int, origin: str = "web") -> dict[str, Any]:
    counts = {"downloads": 2, "sent_bytes": sent, "read_bytes": read}
    return {"run": run, "origin": origin, "file": number, **counts}


def test_hits_misses_and_residence_of_a_server_are_told() -> None:
    rows = [server(0, "web"), server(1, "web", hits=350, residence_s=None)]
    found = listings.origins(pa.Table.from_pylist(rows), points(2))
    assert found.header[1:] == [
        "server", "runs", "downloads", "sent (MB)", "read (MB)", "hits (blocks)",
        "misses (blocks)", "extents evicted", "mean residence (s)",
    ]  # fmt: skip
    (row,) = texts(found)
    # A run that evicted nothing has no residence, and is no zero.
    assert row[1:] == [
        "web", "n = 2", "4.000", "40.00", "10.00", "400", "200", "3.000", "1.500",
    ]  # fmt: skip


def test_each_file_has_its_row_and_those_of_two_servers_are_told_apart() -> None:
    rows = [file(0, 0, 8_000_000, 2_000_000), file(0, 1, 0, 1_000_000)]
    found = texts(listings.origin_files(pa.Table.from_pylist(rows), points()))
    assert [row[1:] for row in found] == [
        ["0", "n = 1", "2.000", "8.000", "2.00", "25.00"],
        ["1", "n = 1", "2.000", "0.000", "1.00", "–"],
    ]
    rows.append(file(0, 0, 9_000_000, 0, "mirror"))
    found = texts(listings.origin_files(pa.Table.from_pylist(rows), points()))
    assert [row[1] for row in found] == ["mirror 0", "web 0", "web 1"]


def test_of_many_files_those_are_shown_of_which_most_was_sent() -> None:
    rows = [file(0, number, 1_000_000 * (number + 1), 0) for number in range(30)]
    found = listings.origin_files(pa.Table.from_pylist(rows), points())
    assert [row[1] for row in texts(found)] == [str(number) for number in range(29, 17, -1)]
    assert found.caption.endswith("The 12 most sent of 30.")
