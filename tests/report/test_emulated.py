"""What the page says of an emulation."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from flashcrowd.report import emulated


def probe(run: int, what: str, planned: float, measured: float, within: int = 1) -> dict[str, Any]:
    ends = {"from": "a", "to": "b", "low": None, "high": None}
    row = {"run": run, "probe": what, "planned": planned, "measured": measured, "within": within}
    return {**row, **ends}


def test_kinds_of_paths_that_were_not_measured_are_said() -> None:
    found = [probe(run, "least round trip on the idle path", 0.05, 0.05) for run in (0, 1)]
    covered = [probe(run, "kinds of paths", 21, 6) for run in (0, 1)]
    everywhere = pa.Table.from_pylist([*found, *covered])
    assert emulated._self_test(pa.Table.from_pylist(found)).endswith("limits of the self-test.")
    said = emulated._self_test(everywhere)
    assert said.startswith("2 of 2 probes ")
    assert said.endswith(" 15 of 21 kinds of paths were not measured: the self-test takes 6.")
    said = emulated._self_test(pa.Table.from_pylist([*found, covered[1]]))
    assert " In 1 of 2 runs up to 15 of 21 kinds of paths were not measured" in said
    assert [row[1] for row in emulated._paths(everywhere).rows] == [found[0]["probe"]]


def test_what_no_echo_reached_is_no_probe_that_found_the_model() -> None:
    found = [
        probe(0, "wait on the full path", 0.05, 0.05),
        probe(0, "queue of the full path, filled to", 3000, 120.4),
        probe(0, "rate of the full path, probed at", 1e9, 114e6),
    ]
    table = pa.Table.from_pylist(found)
    assert emulated._self_test(table).startswith("1 of 1 probe ")
    assert [row[2:] for row in emulated._paths(table).rows[1:]] == [
        ["3000 packets", "120 packets", "not measured"],
        ["1000 Mbit/s", "114 Mbit/s", "not measured"],
    ]


def test_how_hosts_were_attached_is_said() -> None:
    tun = {"attachment": "tun", "real_time": True, "runs": 3}
    said = emulated._standing([{"labs": [tun]}, {}])
    assert said == " Hosts were attached by TUN; the emulator had real-time priority."
    veth = {"attachment": "veth", "real_time": False, "runs": 1}
    said = emulated._standing([{"labs": [tun]}, {"labs": [veth]}])
    assert said.endswith("by TUN and VETH; the emulator had real-time priority in 3 of 4 runs.")
    assert " had no real-time priority." in emulated._standing([{"labs": [veth]}])
    assert emulated._standing([{}]) == ""
    steered = {**tun, "steered": True}
    said = emulated._standing([{"labs": [steered]}])
    assert said.endswith(" Hosts received on other processors than the emulator's.")
    said = emulated._standing([{"labs": [steered, {**veth, "steered": False}]}])
    assert said.endswith(" than the emulator's in 3 of 4 runs.")


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
