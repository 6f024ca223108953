"""What the page says of an emulation."""

from __future__ import annotations

import pyarrow as pa

from flashcrowd.report import emulated


def test_what_a_program_decides_by_itself_stands_together_table_by_table() -> None:
    rows = [
        ("picker.begun", "rarest", "its own"),
        ("nagle", "false", "its own"),
        ("announce.numwant", "200", "50"),
        ("picker.order", "rarest-first", "its own"),
    ]
    found = [
        {
            "population": "homes",
            "program": "aria2",
            "setting": it[0],
            "asked": it[1],
            "given": it[2],
        }
        for it in rows
    ]
    table = emulated._otherwise(pa.Table.from_pylist([*found, *found]))
    assert table.rows == [
        ["homes", "aria2", "picker", "begun rarest, order rarest-first", "its own"],
        ["homes", "aria2", "nagle", "nagle false", "its own"],
        ["homes", "aria2", "announce.numwant", "200", "50"],
    ]
