"""Files of qlog against the fields of the drafts, and against what qvis demands when it loads one.

No viewer runs here. The fields are those of draft-ietf-quic-qlog-quic-events, version 0.3; the
demands were read in qvis' loader, which guesses the kind of a file by its name and its first 1024
characters, knows the version by name, and corrects or refuses what is of older drafts.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.qlog.test_qlog import Results, records

from flashcrowd.qlog import write

NUMBER, COUNT, TEXT = (int, float), int, str
HEADER = {"packet_type": TEXT, "packet_number": COUNT}
RAW = {"length": COUNT, "payload_length": COUNT}
PACKET = {"header": dict, "raw": dict, "frames": list}
FIELDS: dict[str, dict[str, Any]] = {
    "connectivity:connection_started": {"src_ip": TEXT, "dst_ip": TEXT, "protocol": TEXT},
    "connectivity:connection_state_updated": {"old": TEXT, "new": TEXT},
    "connectivity:connection_closed": {"trigger": TEXT},
    "transport:packet_sent": PACKET,
    "transport:packet_received": PACKET,
    "recovery:packet_lost": {"header": dict, "trigger": TEXT},
    "recovery:congestion_state_updated": {"old": TEXT, "new": TEXT, "trigger": TEXT},
    "recovery:loss_timer_updated": {"timer_type": TEXT, "event_type": TEXT, "delta": NUMBER},
    "recovery:metrics_updated": {
        **dict.fromkeys(("min_rtt", "smoothed_rtt", "latest_rtt", "rtt_variance"), NUMBER),
        **dict.fromkeys(("pto_count", "congestion_window", "bytes_in_flight"), COUNT),
        **dict.fromkeys(("ssthresh", "pacing_rate"), COUNT),
    },
}
NEEDED = {
    "connectivity:connection_started": {"src_ip", "dst_ip"},
    "connectivity:connection_state_updated": {"new"},
    "transport:packet_sent": {"header"},
    "transport:packet_received": {"header"},
    "recovery:congestion_state_updated": {"new"},
    "recovery:loss_timer_updated": {"event_type"},
}
FRAMES = {
    "stream": {"stream_id": COUNT, "offset": COUNT, "length": COUNT, "fin": bool},
    "ack": {"acked_ranges": list},
}
BESIDE = {
    "transport:packet_sent": {"segment", "ecn"},
    "transport:packet_received": {"segment", "ecn"},
    "recovery:loss_timer_updated": {"timer"},
    "recovery:metrics_updated": {
        "rto", "bytes_acked", "packets_lost", "peer_window", "ce_packets", "queueing_delay",
    },
}  # fmt: skip
"""What TCP and uTP have besides: readers pass over fields that they do not know."""

VERSIONS = ("draft-02", "draft-02-RC1", "qlog-03-WIP", "0.3")
"""What qvis' loader for this form of events takes."""


def typed(found: dict[str, Any], fields: dict[str, Any]) -> bool:
    """Whether each field that the draft has is of its type; a truth value is no number."""
    return all(
        isinstance(found[name], kind) and (kind is bool or not isinstance(found[name], bool))
        for name, kind in fields.items()
        if name in found
    )


@pytest.fixture(scope="module", name="tcp")
def _tcp() -> Results:
    return Results()


@pytest.fixture(scope="module", name="lossy")
def _lossy() -> Results:
    return Results("3 %", size="1 MB")


@pytest.fixture(scope="module", name="utp")
def _utp() -> Results:
    return Results("1 %", transport="libutp", size="1 MB")


@pytest.mark.parametrize("which", ["tcp", "lossy", "utp"])
def test_events_have_the_fields_of_the_drafts_with_their_types(
    which: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    (path,) = write(request.getfixturevalue(which), tmp_path)
    kinds = set()
    for event in list(records(path))[1:]:
        name, data = event["name"], event["data"]
        assert set(event) == {"time", "name", "data"}
        category, _, kind = name.partition(":")
        kinds.add(kind)
        if category == "flashcrowd":
            continue
        fields = FIELDS[name]
        assert set(data) <= {*fields, *BESIDE.get(name, ())}, event
        assert NEEDED.get(name, set()) <= set(data), event
        assert typed(data, fields), event
        if "header" in data:
            assert set(data["header"]) == set(HEADER)
            assert typed(data["header"], HEADER)
            assert data["header"]["packet_type"] == "1RTT"
        if "raw" in data:
            assert set(data["raw"]) == set(RAW)
            assert typed(data["raw"], RAW)
            assert data["raw"]["length"] > data["raw"]["payload_length"] >= 0
        for frame in data.get("frames", ()):
            wanted = FRAMES[frame["frame_type"]]
            assert set(frame) == {"frame_type", *wanted}
            assert typed(frame, wanted), frame
            assert all(first <= last for first, last in frame.get("acked_ranges", ()))
        if kind == "loss_timer_updated":
            assert data["event_type"] in ("set", "expired", "cancelled")
            assert data["timer_type"] in ("ack", "pto")
    assert {"packet_sent", "packet_received", "packet_lost", "metrics_updated"} <= kinds


@pytest.mark.parametrize("format", ["json", "json-seq"])
@pytest.mark.parametrize("which", ["tcp", "lossy", "utp"])
def test_qvis_takes_the_file_for_what_it_is_and_has_nothing_to_correct(
    which: str, format: Any, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    (path,) = write(request.getfixturevalue(which), tmp_path, format=format)
    begin = path.read_text(encoding="utf-8")[:1024]
    assert '"qlog_version"' in begin
    assert '"qlog_format"' in begin
    if format == "json-seq":
        header, *events = records(path)
        trace, said = header["trace"], "JSON-SEQ"
    else:
        assert "JSON-SEQ" not in begin
        assert "NDJSON" not in begin
        header, said = json.loads(path.read_text(encoding="utf-8")), "JSON"
        (trace,) = header["traces"]
        events = trace["events"]
    assert header["qlog_version"] in VERSIONS
    assert header["qlog_format"] == said
    assert trace["vantage_point"]["type"] in ("client", "server")
    assert trace["common_fields"]["time_format"] == "relative"
    assert isinstance(trace["common_fields"]["reference_time"], NUMBER)
    assert "time_units" not in trace["configuration"]  # so that times are milliseconds
    assert "event_fields" not in trace
    times = [event["time"] for event in events]
    assert times == sorted(times)
    assert times[0] < 3000  # later ones are shifted
    for event in events:
        assert event["name"].count(":") == 1
        assert "group_id" not in event  # else it makes a connection of each
        assert "packet_type" not in event["data"]
        assert not {"packet_size", "payload_length"} & set(event["data"].get("header", ()))
    # Its congestion graph draws these, and finds an acknowledged packet by its number.
    sent = {e["data"]["header"]["packet_number"] for e in events if e["name"].endswith("t_sent")}
    acked = [
        number
        for event in events
        if event["name"] == "transport:packet_received"
        for frame in event["data"]["frames"]
        if frame["frame_type"] == "ack"
        for number in (number for pair in frame["acked_ranges"] for number in pair)
    ]
    assert acked
    assert set(acked) <= sent
