"""The reports of a measurement's ends on its streams: the structs of `crates/live`, as JSON."""

from __future__ import annotations

from typing import Literal, TypedDict

Direction = Literal["to-server", "to-client"]


class Connection(TypedDict):
    """`Snapshot`: None is what the transport does not tell."""

    congestion: str | None
    rtt_ms: float | None
    min_rtt_ms: float | None
    queueing_delay_ms: float | None
    window_bytes: int | None
    in_flight_bytes: int | None
    peer_window_bytes: int | None
    packet_bytes: int | None
    acknowledged_bytes: int | None
    packets_sent: int | None
    packets_retransmitted: int | None
    packets_received: int | None
    packets_duplicate: int | None
    timeouts: int | None
    reductions: int | None


Counter = Literal[
    "packets_sent", "packets_retransmitted", "packets_duplicate", "timeouts", "reductions"
]


class Receipt(TypedDict):
    """The receiver's account of what it got."""

    bytes: int
    digest: str
    equal: bool | None
    stopped: bool
    nanos: int


class Report(TypedDict):
    """`StreamReport`: a stream so far, or at its end."""

    id: int
    transport: Literal["utp", "tcp"]
    direction: Direction
    peer: str
    congestion: str | None
    bytes: int
    queued_bytes: int
    seconds: float
    silent_seconds: float
    digest: str
    verified: bool | None
    stopped_by: Literal["sender", "receiver"] | None
    error: str | None
    receipt: Receipt | None
    connection: Connection


class Total(TypedDict):
    """The totals of the streams of a direction."""

    streams: int
    bytes: int
    seconds: float
    rate_bps: float
    omitted_bytes: int
    packets_retransmitted: int | None
