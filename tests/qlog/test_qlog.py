"""Logs of connections as tables, as files of qlog and as a figure: one run, seen three times."""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from flashcrowd import _core
from flashcrowd.base.need import Need
from flashcrowd.drawing.style import INK
from flashcrowd.qlog import write
from flashcrowd.qlog.acknowledged import Acknowledged, ranges
from flashcrowd.report.charts.connections import over_time
from flashcrowd.report.points import read
from flashcrowd.store.schema import ENGINE_TABLES
from flashcrowd.study import Study

HOME = {"hosts": 1, "access": {"up": "10 Mbit/s", "down": "50 Mbit/s", "up_queue": "40 packets"}}
STUDY = {
    "format": 1,
    "title": "One upload",
    "network": {"rtt": "40 ms", "groups": {"home": HOME, "server": {"hosts": 1}}},
    "workloads": {
        "upload": {
            "kind": "transfer", "from": "home", "to": "server", "size": "3 MB",
        }
    },
    "measures": {"connections": {"hosts": ["home"]}},
}  # fmt: skip


class Results:
    """What a results folder holds, of one run."""

    def __init__(self, loss: str = "0 %", **transfer: Any) -> None:
        document = json.loads(json.dumps(STUDY))
        document["network"]["loss"] = loss
        document["workloads"]["upload"] |= transfer
        study = Study.from_dict(document)
        (point,) = study.points()
        made = _core.simulate(point.plan().parsed, 1)
        self.tables: dict[str, pa.Table] = {}
        for name in ("connections", "connection_events"):
            rows = ENGINE_TABLES[name].cast(pa.table(made[name]))
            self.tables[name] = rows.append_column("run", pa.array([0] * rows.num_rows))
        run = pa.table(made["run"]).to_pylist()[0]
        run |= {"run": 0, "point": 0, "repeat": 0, "seed": 1}
        self.tables["runs"] = pa.Table.from_pylist([run])
        self.study: dict[str, Any] = {"title": "One upload"}
        self.provenance: dict[str, Any] = {}

    def rows(self, event: str) -> list[dict[str, Any]]:
        return [
            row for row in self.tables["connection_events"].to_pylist() if row["event"] == event
        ]


@pytest.fixture(scope="module", name="tcp")
def _tcp() -> Results:
    return Results()


@pytest.fixture(scope="module", name="utp")
def _utp() -> Results:
    return Results("1 %", transport="libutp", size="1 MB")


def records(path: Path) -> Iterator[dict[str, Any]]:
    """RFC 7464: each text after a record separator, with a line feed at its end."""
    text = path.read_text(encoding="utf-8")
    assert text.startswith("\x1e")
    for record in text[1:].split("\x1e"):
        assert record.endswith("\n")
        yield json.loads(record)


@pytest.mark.parametrize("which", ["tcp", "utp"])
def test_a_file_says_what_the_table_says(
    which: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    results: Results = request.getfixturevalue(which)
    (path,) = write(results, tmp_path)
    header, *events = records(path)
    assert path.name == "run-0-0-upload-home-1.sqlog"
    assert (header["qlog_version"], header["qlog_format"]) == ("0.3", "JSON-SEQ")
    assert header["trace"]["vantage_point"] == {"name": "home-1", "type": "client"}
    assert header["trace"]["common_fields"]["protocol_type"] == [which.upper()]
    rows = results.tables["connection_events"].to_pylist()
    assert [event["name"].split(":")[1] for event in events] == [row["event"] for row in rows]
    assert [event["time"] for event in events] == pytest.approx([1e3 * r["t_s"] for r in rows])
    # Metrics tell what has changed, and together what the table tells.
    metrics: dict[str, Any] = {}
    for row, event in zip(rows, events, strict=True):
        if row["event"] == "metrics_updated":
            metrics |= event["data"]
            assert metrics["congestion_window"] == row["congestion_window"]
            assert metrics["bytes_in_flight"] == row["bytes_in_flight"]
            assert metrics.get("ssthresh") == row["ssthresh"]
            rtt = row["smoothed_rtt_s"]
            assert metrics.get("smoothed_rtt") == (
                None if rtt is None else pytest.approx(1e3 * rtt)
            )


@pytest.mark.parametrize("which", ["tcp", "utp"])
def test_every_packet_is_acknowledged_once_or_lost(
    which: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    results: Results = request.getfixturevalue(which)
    (path,) = write(results, tmp_path)
    sent, lost, acked = set(), [], []
    for event in list(records(path))[1:]:
        data = event["data"]
        match event["name"]:
            case "transport:packet_sent" if data["frames"]:
                sent.add(data["header"]["packet_number"])
            case "recovery:packet_lost":
                lost.append(data["header"]["packet_number"])
            case "transport:packet_received":
                for frame in data["frames"]:
                    if frame["frame_type"] == "ack":
                        for first, last in frame["acked_ranges"]:
                            acked += range(first, last + 1)
    assert lost
    assert len(acked) == len(set(acked))
    assert set(acked) | set(lost) <= sent
    # The run ends with the last byte at the receiver: what it had not said by then is left.
    left = sent - set(acked) - set(lost)
    assert len(left) < 100
    assert all(number > max(acked) - 200 for number in left)


def test_json_is_one_object_with_the_same_events(tcp: Results, tmp_path: Path) -> None:
    (path,) = write(tcp, tmp_path, format="json")
    found = json.loads(path.read_text(encoding="utf-8"))
    (sequence,) = write(tcp, tmp_path)
    header, *events = records(sequence)
    assert found["qlog_format"] == "JSON"
    assert found["traces"] == [header["trace"] | {"events": events}]


@pytest.mark.parametrize("hosts", ["all", ["home"], ["server"]])
def test_the_memory_of_logs_is_foreseen(hosts: Any) -> None:
    """Rows of 660 bytes, which is what they were measured to take: within a factor of two."""
    need, rows = [], 0
    for measures in ({}, {"connections": {"hosts": hosts}}):
        (point,) = Study.from_dict(STUDY | {"measures": measures}).points()
        plan = point.plan().parsed
        need.append(Need(*plan.need()).bytes)
        rows = len(_core.simulate(plan, 1)["connection_events"])
    assert 0.5 < (need[1] - need[0]) / (660 * rows) < 2


@pytest.mark.parametrize("column", ["host", "workload"])
def test_no_name_in_a_table_leads_out_of_the_folder(column: str, tmp_path: Path) -> None:
    odd = Results()
    ends = odd.tables["connections"]
    place = ends.schema.get_field_index(column)
    names = pa.array(["/../../../evil\x1b"] * len(ends))
    odd.tables["connections"] = ends.set_column(place, column, names)
    (tmp_path / "run-0-0-").mkdir()
    files = write(odd, tmp_path / "out")
    assert {file.parent for file in files} == {tmp_path / "out"}
    assert {it.name for it in tmp_path.iterdir()} == {"out", "run-0-0-"}
    assert all("_.._.._.._evil\\u001b".replace("\\", "_") in it.name for it in files)


def test_nothing_logged_is_nothing_written(tcp: Results, tmp_path: Path) -> None:
    assert write(tcp, tmp_path, run=1) == []
    assert list(tmp_path.iterdir()) == []


def test_acknowledgements_of_offsets_and_of_numbers_that_wrap() -> None:
    tcp = Acknowledged(wire=False)
    for number, offset in enumerate([0, 100, 200, 300, 100]):
        row = {"packet_type": "data", "offset": offset, "payload_bytes": 100}
        tcp.sent(row | {"packet_number": number})
    assert tcp.by({"ack": 100, "sack": "200-300"}) == [[0, 0], [2, 2]]
    # What was sent again is known by the last packet that carried it.
    assert tcp.by({"ack": 400}) == [[3, 4]]
    utp = Acknowledged(wire=True)
    for number, seq_nr in enumerate([65534, 65535, 0, 1]):
        row = {"packet_type": "data", "offset": 0, "payload_bytes": 1, "seq_nr": seq_nr}
        utp.sent(row | {"packet_number": number})
    assert utp.by({"ack": 65535, "sack": "1-2"}) == [[0, 1], [3, 3]]
    assert utp.by({"ack": 1}) == [[2, 2]]
    assert ranges([5, 3, 4, 9]) == [[3, 5], [9, 9]]


def test_the_figure_shows_what_happened(tcp: Results, utp: Results) -> None:
    for results, words in ((tcp, ("in flight", "ssthresh", "least RTT")), (utp, ("target",))):
        (figure,) = over_time(results, read(results.tables["runs"]))
        lost = len(results.rows("packet_lost"))
        assert f"crosses are packets lost ({lost})" in figure.caption.lower()
        for text in (*words, "window", "smoothed RTT"):
            assert f">{text}</text>" in figure.svg.wide
            assert f">{text}</text>" in figure.svg.narrow
            # In ink, whatever the colour of its line, of which a piece stands before it.
            (label,) = re.findall(rf'<text style="([^"]*)"[^>]*>{text}</text>', figure.svg.wide)
            assert f"fill: {INK}" in label
    repairs = sum(
        row["new"] in ("recovery", "cwr", "loss") and row["old"] not in ("recovery", "cwr", "loss")
        for row in tcp.rows("congestion_state_updated")
    )
    (figure,) = over_time(tcp, read(tcp.tables["runs"]))
    assert f"losses were repaired ({repairs})" in figure.caption


def test_a_sweep_has_the_busiest_connection_of_each_of_four_points_at_most(tcp: Results) -> None:
    points = read(tcp.tables["runs"])
    (point,) = points.points
    assert len(over_time(tcp, replace(points, points=[point] * 6))) == 4
