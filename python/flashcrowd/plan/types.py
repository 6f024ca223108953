"""A plan as types: made from the structs of `crates/plan` by `make plan-types`."""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypeAlias, TypedDict

from flashcrowd.base.words import JitterShape, Role, Sampled, Side, Windowed

Settings: TypeAlias = dict[str, Any]
"""A table of settings, whose fields `_core.settings_schema` describes."""


class Capture(TypedDict):
    from_ns: int
    hosts: list[int]
    snap_bytes: int | None
    to_ns: int | None


class LoggedConnections(TypedDict):
    from_ns: int
    hosts: list[int] | None
    metrics: bool
    packets: bool
    timers: bool
    to_ns: int | None
    workloads: list[int]


class Series(TypedDict):
    every_ns: int
    what: Sampled


class Window(TypedDict):
    from_ns: int
    table: Windowed
    to_ns: int | None


class Measures(TypedDict):
    capture: NotRequired[Capture | None]
    connections: LoggedConnections | None
    have: bool
    packets_ns: int | None
    payloads: bool
    pieces_ns: int | None
    queues_ns: int | None
    rtts: bool
    send_gaps: bool
    series: list[Series]
    unchokes: bool
    windows: list[Window]


class PlainFraming(TypedDict):
    kind: Literal["plain"]
    overhead_bytes: int


class AtmFraming(TypedDict):
    encapsulation_bytes: int
    kind: Literal["atm"]


Framing: TypeAlias = PlainFraming | AtmFraming


class Jitter(TypedDict):
    reorder: bool
    shape: JitterShape
    spread_ns: int


class BernoulliLossModel(TypedDict):
    kind: Literal["bernoulli"]
    probability: float


class GilbertElliottLossModel(TypedDict):
    kind: Literal["gilbert-elliott"]
    loss_bad: float
    loss_good: float
    to_bad: float
    to_good: float


LossModel: TypeAlias = BernoulliLossModel | GilbertElliottLossModel


class Loss(TypedDict):
    model: LossModel
    side: Side


class Conditions(TypedDict):
    delay_ns: int
    framing: Framing
    jitter: Jitter | None
    loss: Loss | None
    queue: Settings
    rate_bps: int | None


class Draw(TypedDict):
    loss: list[tuple[float, float]] | None
    rtt_s: list[tuple[float, float]] | None


class CorePath(TypedDict):
    conditions: Conditions
    draw: Draw | None
    links: list[int]


class Host(TypedDict):
    down: list[int]
    group: int
    name: str
    stack: int
    up: list[int]


class DrawnDelay(TypedDict):
    least_ns: int
    most_ns: int
    number: int


class Link(TypedDict):
    conditions: Conditions
    delay: DrawnDelay | None
    name: str
    trace: NotRequired[int | None]


class RatesTrace(TypedDict):
    kind: Literal["rates"]
    length_ns: int | None
    points: list[tuple[int, int]]


class OpportunitiesTrace(TypedDict):
    at_ms: list[int]
    bytes: int
    kind: Literal["opportunities"]


Trace: TypeAlias = RatesTrace | OpportunitiesTrace


class Network(TypedDict):
    core_of: list[int]
    cores: list[CorePath]
    groups: list[str]
    hosts: list[Host]
    links: list[Link]
    traces: NotRequired[list[Trace]]


class Stop(TypedDict):
    horizon_ns: int
    stall_ns: int


class LinkChange(TypedDict):
    at_ns: int
    conditions: Conditions
    kind: Literal["link"]
    link: int
    trace: NotRequired[int | None]


class CoreChange(TypedDict):
    at_ns: int
    conditions: Conditions
    core: int
    kind: Literal["core"]


class StopChange(TypedDict):
    at_ns: int
    kind: Literal["stop"]
    workload: int


class UploadChange(TypedDict):
    at_ns: int
    kind: Literal["upload"]
    population: int
    upload_bps: int | None
    workload: int


class TransferRateChange(TypedDict):
    at_ns: int
    kind: Literal["transfer-rate"]
    rate_bps: int | None
    workload: int


Change: TypeAlias = LinkChange | CoreChange | StopChange | UploadChange | TransferRateChange


class FlashCrowdArrivals(TypedDict):
    kind: Literal["flash-crowd"]
    spread_ns: int
    start_ns: int


class PoissonArrivals(TypedDict):
    gap_ns: int
    kind: Literal["poisson"]
    start_ns: int


class TimesArrivals(TypedDict):
    at_ns: list[int]
    kind: Literal["times"]


class SessionsArrivals(TypedDict):
    at_ns: list[int]
    kind: Literal["sessions"]
    leave_ns: list[int | None]


class RateStep(TypedDict):
    at_ns: int
    per_s: float


class RatesArrivals(TypedDict):
    kind: Literal["rates"]
    period_ns: int | None
    steps: list[RateStep]


Arrivals: TypeAlias = (
    FlashCrowdArrivals | PoissonArrivals | TimesArrivals | SessionsArrivals | RatesArrivals
)


class TcpTransportChoice(TypedDict):
    tcp: int


class UtpTransportChoice(TypedDict):
    utp: int


TransportChoice: TypeAlias = TcpTransportChoice | UtpTransportChoice


class AtOnceDeparture(TypedDict):
    kind: Literal["at-once"]


class AfterDeparture(TypedDict):
    kind: Literal["after"]
    mean_ns: int


class AfterExactlyDeparture(TypedDict):
    kind: Literal["after-exactly"]
    stay_ns: int


class AfterShareDeparture(TypedDict):
    kind: Literal["after-share"]
    share: float


class NeverDeparture(TypedDict):
    kind: Literal["never"]


class AllDoneDeparture(TypedDict):
    kind: Literal["all-done"]


class SessionDeparture(TypedDict):
    kind: Literal["session"]
    stay_s: list[tuple[float, float]]


Departure: TypeAlias = (
    AtOnceDeparture
    | AfterDeparture
    | AfterExactlyDeparture
    | AfterShareDeparture
    | NeverDeparture
    | AllDoneDeparture
    | SessionDeparture
)


class ConstantPositioning(TypedDict):
    kind: Literal["constant"]
    time_ns: int


class DistancePositioning(TypedDict):
    full_stroke_ns: int
    half_turn_ns: int
    kind: Literal["distance"]
    settle_ns: int


Positioning: TypeAlias = ConstantPositioning | DistancePositioning


class HardDiskMedium(TypedDict):
    kind: Literal["hard-disk"]
    positioning: Positioning
    rate_bps: int
    size_bytes: int


class SsdMedium(TypedDict):
    channels: int
    kind: Literal["ssd"]
    latency_ns: int
    rate_bps: int


class NetworkVolumeMedium(TypedDict):
    kind: Literal["network-volume"]
    latency_ns: int
    price: float
    rate_bps: int
    requests_per_second: int


Medium: TypeAlias = HardDiskMedium | SsdMedium | NetworkVolumeMedium


class Storage(TypedDict):
    disk: Medium
    extent_bytes: int
    memory_bytes: int
    reads: int


class ClientInterface(TypedDict):
    refresh_ns: int
    step_bytes: int
    window_ns: int | None


class ControlledUpload(TypedDict):
    controller: Settings
    interface: ClientInterface
    lateness_ns: int
    poll_ns: int
    probe_bytes: int
    reflectors: list[int]
    start_spread_ns: int


class Population(TypedDict):
    answers_utp: NotRequired[bool]
    arrivals: Arrivals
    data: TransportChoice | None
    departure: Departure
    hosts: list[int]
    name: str
    profile: int
    program: NotRequired[str | None]
    replace: bool
    role: Role
    storage: NotRequired[Storage | None]
    transport: TransportChoice | None
    upload_bps: int | None
    upload_control: NotRequired[ControlledUpload | None]


class TrackerRules(TypedDict):
    default_peers: int
    forget_ns: int
    interval_ns: int
    max_peers: int
    reshuffle_ns: int
    seeds_to_seeds: bool


class Tracker(TypedDict):
    answer_delay_ns: int
    host: int | None
    program: NotRequired[str | None]
    rules: TrackerRules


class WebSeed(TypedDict):
    file: int
    origin: int


class SwarmWorkload(TypedDict):
    block_bytes: int
    kind: Literal["swarm"]
    name: str
    piece_bytes: int
    populations: list[Population]
    size_bytes: int
    stop_after_completions: int | None
    tracker: Tracker
    web_seeds: NotRequired[list[WebSeed]]


TransferWorkload = TypedDict(
    "TransferWorkload",
    {
        "flows": int,
        "from": int,
        "kind": Literal["transfer"],
        "name": str,
        "program": NotRequired[str | None],
        "rate_bps": int | None,
        "size_bytes": int | None,
        "spread_ns": int,
        "start_ns": int,
        "stop_ns": int | None,
        "to": int,
        "transport": TransportChoice | None,
    },
)
"""One or more flows from one host to another."""


PingWorkload = TypedDict(
    "PingWorkload",
    {
        "from": int,
        "interval_ns": int,
        "kind": Literal["ping"],
        "name": str,
        "size_bytes": int,
        "start_ns": int,
        "stop_ns": int | None,
        "to": int,
    },
)
"""What a bystander feels."""


class PageSize(TypedDict):
    largest_bytes: int
    median_bytes: int
    sigma: float
    tail_from_bytes: int
    tail_shape: float


class ExponentialReading(TypedDict):
    kind: Literal["exponential"]
    mean_ns: int


class ParetoReading(TypedDict):
    kind: Literal["pareto"]
    least_ns: int
    longest_ns: int
    shape: float


Reading: TypeAlias = ExponentialReading | ParetoReading


WebWorkload = TypedDict(
    "WebWorkload",
    {
        "connections": int,
        "from": int,
        "kind": Literal["web"],
        "name": str,
        "page": PageSize,
        "reading": Reading,
        "request_bytes": int,
        "spread_ns": int,
        "start_ns": int,
        "stop_ns": int | None,
        "to": int,
        "transport": TransportChoice | None,
        "users": int,
    },
)
"""Pages that users fetch one after another, over fresh connections."""


CallWorkload = TypedDict(
    "CallWorkload",
    {
        "every_ns": int | None,
        "from": int,
        "interval_ns": int,
        "kind": Literal["call"],
        "name": str,
        "size_bytes": int,
        "start_ns": int,
        "stop_ns": int | None,
        "to": int,
    },
)
"""A stream of datagrams at a constant rate, both ways."""


class Files(TypedDict):
    count: int
    size_bytes: int
    zipf: float


class Clients(TypedDict):
    arrivals: Arrivals
    hosts: list[int]
    in_order: bool
    name: str


class OriginWorkload(TypedDict):
    disk: Medium
    files: Files
    head_bytes: int
    host: int
    kind: Literal["origin"]
    name: str
    part_bytes: int
    populations: list[Clients]
    request_bytes: int
    settings: Settings
    transport: TransportChoice | None
    unsent_bytes: int


DownloadWorkload = TypedDict(
    "DownloadWorkload",
    {
        "connections": int,
        "from": int,
        "head_bytes": int,
        "kind": Literal["download"],
        "least_split_bytes": int | None,
        "mirrors": list[int],
        "name": str,
        "range_bytes": int | None,
        "request_bytes": int,
        "size_bytes": int,
        "spread_ns": int,
        "start_ns": int,
        "stop_ns": int | None,
        "to": int,
        "transport": TransportChoice | None,
        "use_head": bool,
    },
)
"""One file over several connections, from one or several servers."""


Workload: TypeAlias = (
    SwarmWorkload
    | TransferWorkload
    | PingWorkload
    | WebWorkload
    | CallWorkload
    | OriginWorkload
    | DownloadWorkload
)


class Plan(TypedDict):
    format: int
    measures: Measures
    network: Network
    profiles: list[Settings]
    stacks: list[Settings]
    stop: Stop
    timeline: list[Change]
    title: str
    utps: list[Settings]
    workloads: list[Workload]
