"""Rows of `connection_events` as events of qlog.

Names and fields are those of draft-ietf-quic-qlog-quic-events for QUIC, since tools know these;
what TCP and uTP have besides is in `segment`, and an event that QUIC has not in the category
`flashcrowd`. Times are milliseconds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from flashcrowd.base.rows import Row
from flashcrowd.qlog.acknowledged import Acknowledged

Event = dict[str, Any]

_SPACE = "1RTT"
"""All packets have numbers of one space, which tools know by this type of QUIC's."""

_METRICS = {
    "congestion_window": "congestion_window",
    "bytes_in_flight": "bytes_in_flight",
    "ssthresh": "ssthresh",
    "smoothed_rtt_s": "smoothed_rtt",
    "rtt_variance_s": "rtt_variance",
    "min_rtt_s": "min_rtt",
    "latest_rtt_s": "latest_rtt",
    "backoff": "pto_count",
    "pacing_rate_bps": "pacing_rate",
    "rto_s": "rto",
    "bytes_acked": "bytes_acked",
    "packets_lost": "packets_lost",
    "peer_window": "peer_window",
    "ce_packets": "ce_packets",
    "queueing_delay_s": "queueing_delay",
}
"""The name of each column there; the last ones are not QUIC's."""

_SEGMENT = ("packet_type", "seq_nr", "ack", "sack", "window", "retransmission")

_TIMER = {"reordering": "ack"}
"""qlog knows two kinds of timers: `ack`, for what may only be late, and `pto`."""

_CATEGORY = {
    "packet_sent": "transport",
    "packet_received": "transport",
    "packet_lost": "recovery",
    "metrics_updated": "recovery",
    "congestion_state_updated": "recovery",
    "loss_timer_updated": "recovery",
    "connection_started": "connectivity",
    "connection_state_updated": "connectivity",
    "connection_closed": "connectivity",
}


def events(rows: Iterable[Row], end: Row) -> Iterator[Event]:
    """The events of one log.

    Args:
        rows: of `connection_events`, as dictionaries.
        end: the row of `connections`.
    """
    open_ = Acknowledged(wire=end["transport"] == "utp")
    metrics: Event = {}
    received = 0
    for row in rows:
        kind = row["event"]
        if kind == "packet_sent":
            open_.sent(row)
            data = _packet(row, row["packet_number"])
        elif kind == "packet_received":
            data = _packet(row, received, open_.by(row))
            received += 1
        elif kind == "packet_lost":
            data = {"header": _header(row["packet_number"]), "trigger": row["trigger"]}
        elif kind == "metrics_updated":
            data = _changed(row, metrics)
        elif kind == "loss_timer_updated":
            data = _timer(row)
        elif kind == "connection_started":
            data = {"src_ip": end["host"], "dst_ip": end["remote"], "protocol": end["transport"]}
        else:
            data = _known(row, "old", "new", "trigger")
        name = f"{_CATEGORY.get(kind, 'flashcrowd')}:{kind}"
        yield {"time": _ms(row["t_s"]), "name": name, "data": data}


def _header(number: int) -> Event:
    return {"packet_type": _SPACE, "packet_number": number}


def _packet(row: Row, number: int, acked: list[list[int]] | None = None) -> Event:
    frames = []
    if row.get("offset") is not None:
        frames.append(
            {
                "frame_type": "stream",
                "stream_id": 0,
                "offset": row["offset"],
                "length": row["payload_bytes"],
                "fin": row["packet_type"] == "fin",
            }
        )
    if acked:
        frames.append({"frame_type": "ack", "acked_ranges": acked})
    packet = {
        "header": _header(number),
        "raw": {"length": row["ip_bytes"], "payload_length": row["payload_bytes"]},
        "frames": frames,
        "segment": _known(row, *_SEGMENT),
    }
    return packet | _known(row, "ecn")


def _changed(row: Row, before: Event) -> Event:
    """The metrics that differ from those `before`, which become those of the row."""
    found = {}
    for column, name in _METRICS.items():
        value = row.get(column)
        if value is not None and before.get(name) != value:
            before[name] = value
            found[name] = _ms(value) if column.endswith("_s") else value
    return found


def _timer(row: Row) -> Event:
    data = {"event_type": row["trigger"], "timer_type": _TIMER.get(row["timer"], "pto")}
    delay = row.get("timer_delay_s")
    return data | {"timer": row["timer"]} | ({} if delay is None else {"delta": _ms(delay)})


def _known(row: Row, *columns: str) -> Event:
    return {column: row[column] for column in columns if row.get(column) is not None}


def _ms(seconds: float) -> float:
    """Milliseconds, to the nanosecond."""
    return round(1e3 * seconds, 6)
