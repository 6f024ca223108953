"""The plan's format, as types: what the types of `crates/plan` read. All numbers are SI."""

from __future__ import annotations

from typing import Any, Literal, NotRequired

from pydantic import ConfigDict
from typing_extensions import TypedDict

FORMAT = 1
"""Version of the plan's format."""


class Strict(TypedDict):
    """An object without unknown keys."""

    __pydantic_config__ = ConfigDict(extra="forbid")  # type: ignore[misc]


class Queue(Strict):
    """Where packets wait: a `kind`, and the parameters that belong to it."""

    kind: Literal["drop-tail", "codel", "fq-codel", "pie", "red", "cake"]
    packets: NotRequired[int | None]
    bytes: NotRequired[int | None]
    limit_packets: NotRequired[int]
    memory_limit_bytes: NotRequired[int | None]
    flows: NotRequired[int]
    quantum_bytes: NotRequired[int]
    drop_batch: NotRequired[int]
    target_ns: NotRequired[int]
    interval_ns: NotRequired[int]
    mtu_bytes: NotRequired[int]
    ecn: NotRequired[bool]
    ce_threshold_ns: NotRequired[int | None]
    update_ns: NotRequired[int]
    alpha_hz: NotRequired[float]
    beta_hz: NotRequired[float]
    max_burst_ns: NotRequired[int]
    mean_packet_bytes: NotRequired[int]
    most_marked: NotRequired[float]
    min_packets: NotRequired[float]
    max_packets: NotRequired[float]
    weight: NotRequired[float]
    max_probability: NotRequired[float]
    gentle: NotRequired[bool]
    bandwidth_bps: NotRequired[int | None]
    framing: NotRequired[Framing | None]
    rtt_ns: NotRequired[int]
    isolation: NotRequired[str]
    ack_filter: NotRequired[str]


class Jitter(Strict):
    """Random delay on top of the propagation delay."""

    shape: Literal["uniform", "normal"]
    spread_ns: int
    reorder: bool


class LossModel(Strict):
    """Which packets are lost: a `kind`, and the probabilities that belong to it."""

    kind: Literal["bernoulli", "gilbert-elliott"]
    probability: NotRequired[float]
    to_bad: NotRequired[float]
    to_good: NotRequired[float]
    loss_good: NotRequired[float]
    loss_bad: NotRequired[float]


class Loss(Strict):
    """Random loss."""

    side: Literal["sender", "receiver"]
    model: LossModel


class Framing(Strict):
    """What a packet becomes on the wire: a `kind`, and the bytes that belong to it."""

    kind: Literal["plain", "atm"]
    overhead_bytes: NotRequired[int]
    encapsulation_bytes: NotRequired[int]


class Conditions(Strict):
    """What one direction of a link is like."""

    rate_bps: int | None
    queue: Queue
    delay_ns: int
    jitter: Jitter | None
    loss: Loss | None
    framing: Framing


class Host(Strict):
    """One host; `up` and `down` are links in the order in which packets cross them."""

    name: str
    group: int
    stack: int
    up: list[int]
    down: list[int]


class DrawnDelay(Strict):
    """A delay drawn for each run; links with the same number draw the same part of their range."""

    number: int
    least_ns: int
    most_ns: int


class Trace(Strict):
    """What links carry over time: a `kind`, and what belongs to it."""

    kind: Literal["rates", "opportunities"]
    points: NotRequired[list[tuple[int, int]]]
    length_ns: NotRequired[int | None]
    at_ms: NotRequired[list[int]]
    bytes: NotRequired[int]


class Link(Strict):
    """One direction of a shared link; `trace` is an index, and stands in place of a rate."""

    name: str
    conditions: Conditions
    trace: NotRequired[int | None]
    delay: DrawnDelay | None


class Draw(Strict):
    """Quantile points (fraction, value) from which each pair of hosts draws."""

    rtt_s: list[tuple[float, float]] | None
    loss: list[tuple[float, float]] | None


class CorePath(Strict):
    """The core of the network between two groups."""

    links: list[int]
    conditions: Conditions
    draw: Draw | None


class Network(Strict):
    """Hosts, links and the paths between them."""

    groups: list[str]
    hosts: list[Host]
    links: list[Link]
    traces: NotRequired[list[Trace]]
    cores: list[CorePath]
    core_of: list[int]


class Window(Strict):
    """The part of a run that a table is about."""

    table: Literal["links", "transfers", "pings", "pages", "calls", "origins"]
    from_ns: int
    to_ns: int | None


class Capture(Strict):
    """Whose packets are captured whole."""

    hosts: list[int]
    from_ns: int
    to_ns: int | None
    snap_bytes: int | None


class LoggedConnections(Strict):
    """Which connections are logged, event by event."""

    workloads: list[int]
    hosts: list[int] | None
    from_ns: int
    to_ns: int | None
    packets: bool
    metrics: bool
    timers: bool


class Measures(Strict):
    """What is recorded besides the summary tables."""

    series: list[dict[str, Any]]
    pieces_ns: int | None
    queues_ns: int | None
    send_gaps: bool
    payloads: bool
    rtts: bool
    unchokes: bool
    packets_ns: int | None
    have: bool
    windows: NotRequired[list[Window]]
    capture: NotRequired[Capture | None]
    connections: NotRequired[LoggedConnections | None]


class Stop(Strict):
    """When a run ends that does not end by itself."""

    horizon_ns: int
    stall_ns: int


class PlanDict(Strict):
    """A complete run but for its seed. Stacks, uTP configurations, profiles, workloads and changes
    are the engine's own objects, checked by the engine.
    """  # noqa: D205

    format: Literal[1]
    title: str
    network: Network
    stacks: list[dict[str, Any]]
    utps: list[dict[str, Any]]
    profiles: list[dict[str, Any]]
    workloads: list[dict[str, Any]]
    timeline: list[dict[str, Any]]
    measures: Measures
    stop: Stop
