"""Queue disciplines: what decides which packets a link sends, marks or drops, and when."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Discriminator, Field, Tag

from flashcrowd.scenario.fields import (
    Count,
    MaybePositiveSpan,
    MaybeRate,
    MaybeSize,
    PositiveSize,
    PositiveSpan,
    Probability,
    Table,
    Word,
    within,
)
from flashcrowd.scenario.framing import Framing
from flashcrowd.scenario.queue import DISCIPLINES, DisciplineName, Queue
from flashcrowd.units import Share, Size, Span

PacketLimit = Annotated[int, Field(ge=1, le=2**31)]
Length = Annotated[float, Field(ge=0, le=1e6)]
Weight = Annotated[float, Field(ge=0, le=1000)]


class CoDel(Table):
    """Controlled delay (RFC 8289); the defaults are those of Linux."""

    kind: Literal["codel"] = "codel"
    limit: PacketLimit = 1000
    """The most packets, without the one in transmission."""
    target: PositiveSpan = Span("5 ms")
    """How long packets may wait for long."""
    interval: PositiveSpan = Span("100 ms")
    """For how long, at first, they may wait longer: a usual round-trip time."""
    mtu: PositiveSize = Size("1514 B")
    """A queue of no more than this is left alone."""
    ecn: bool = False
    """Whether packets that allow it are marked instead of dropped."""
    ce_threshold: MaybePositiveSpan = None
    """Packets that waited longer than this are marked in any case."""


class FqCoDel(Table):
    """Flow queuing with CoDel (RFC 8290); the defaults are those of Linux."""

    kind: Literal["fq-codel"] = "fq-codel"
    limit: PacketLimit = 10_240
    """The most packets in all queues, without the one in transmission."""
    memory_limit: PositiveSize = Size("32 MiB")
    """The most bytes in all queues."""
    flows: Annotated[int, Field(ge=1, le=65_536)] = 1024
    """Queues among which a hash chooses."""
    quantum: Annotated[Size, within(Size("256 B"), Size("1 MiB"))] = Size("1514 B")
    """What a queue may send in its turn."""
    drop_batch: Count = 64
    """Without room, half of the longest queue is dropped, but no more packets than this."""
    target: PositiveSpan = Span("5 ms")
    """As for `codel`."""
    interval: PositiveSpan = Span("100 ms")
    """As for `codel`."""
    mtu: PositiveSize = Size("1514 B")
    """As for `codel`, of all queues together."""
    ecn: bool = True
    """As for `codel`."""
    ce_threshold: MaybePositiveSpan = None
    """As for `codel`."""


class Pie(Table):
    """Proportional integral controller, enhanced (RFC 8033); the defaults are the RFC's."""

    kind: Literal["pie"] = "pie"
    limit: PacketLimit = 1000
    """The most packets, without the one in transmission."""
    target: PositiveSpan = Span("15 ms")
    """The delay to keep to."""
    update: Annotated[Span, within(Span("100 us"), Span("10 s"))] = Span("15 ms")
    """How often the probability is worked out."""
    alpha: Annotated[float, Field(gt=0, le=1000)] = 0.125
    """Weight of what the delay is above the target, in Hz."""
    beta: Weight = 1.25
    """Weight of what it has risen by, in Hz."""
    max_burst: Span = Span("150 ms")
    """For how long a queue that was empty may grow before anything is dropped."""
    mean_packet: PositiveSize = Size("1514 B")
    """A queue of two such packets is left alone."""
    ecn: bool = False
    """Whether packets that allow it are marked instead of dropped."""
    most_marked: Probability = Share("10 %")
    """Above this probability they are dropped all the same."""


class Red(Table):
    """Random early detection (Floyd and Jacobson 1993), gentle unless it says otherwise."""

    kind: Literal["red"] = "red"
    limit: PacketLimit = 1000
    """The most packets, without the one in transmission."""
    min: Length = 5.0
    """The average length, in packets, up to which nothing is dropped."""
    max: Length = 15.0
    """The average length at which `max_probability` is reached."""
    weight: Annotated[float, Field(gt=0, le=1)] = 0.002
    """Weight of the length that a packet finds in the average."""
    max_probability: Probability = Share("10 %")
    """The probability at `max`."""
    gentle: bool = True
    """Whether it goes on rising up to twice `max`; if not, all are dropped from `max` on."""
    mean_packet: PositiveSize = Size("1000 B")
    """Of this size is what could have been sent while the line was idle."""
    ecn: bool = False
    """Whether packets that allow it are marked instead of dropped, where not all are dropped."""


class Cake(Table):
    """CAKE in its best-effort mode; the defaults are those of tc-cake(8)."""

    kind: Literal["cake"] = "cake"
    bandwidth: MaybeRate = None
    """Rate of its shaper; "unlimited" for that of the link."""
    framing: Annotated[Framing | None, Word("link")] = None
    """What its shaper takes packets for; "link" for what they are."""
    rtt: Annotated[Span, within(Span("100 us"), Span("10 min"))] = Span("100 ms")
    """CoDel's interval; its target is a twentieth of it."""
    isolation: Literal[
        "flowblind",
        "srchost",
        "dsthost",
        "hosts",
        "flows",
        "dual-srchost",
        "dual-dsthost",
        "triple-isolate",
    ] = "triple-isolate"
    """Who shares fairly with whom."""
    ack_filter: Literal["off", "conservative", "aggressive"] = "off"
    """Which acknowledgements are dropped when later ones wait behind them."""
    memory_limit: Annotated[MaybeSize, Word("auto")] = None
    """The most bytes in all queues; "auto" for four intervals, and at least 4 MiB."""
    mtu: PositiveSize = Size("1514 B")
    """Size of the longest packets."""


Discipline = CoDel | FqCoDel | Pie | Red | Cake
"""What decides when a packet leaves."""


def _by_name(given: object) -> object:
    """The table that a name stands for."""
    return {"kind": given} if isinstance(given, str) and given in DISCIPLINES else given


def _kind(given: Any) -> str | None:
    if isinstance(given, dict):
        return given.get("kind")
    return getattr(given, "kind", "drop-tail")


AnyQueue = Annotated[
    Annotated[Queue, Tag("drop-tail")]
    | Annotated[CoDel, Tag("codel")]
    | Annotated[FqCoDel, Tag("fq-codel")]
    | Annotated[Pie, Tag("pie")]
    | Annotated[Red, Tag("red")]
    | Annotated[Cake, Tag("cake")],
    Discriminator(_kind),
    BeforeValidator(_by_name, json_schema_input_type=DisciplineName | Queue | Discipline),
]
"""A queue: where a drop-tail queue is full, the name of a discipline, or a table."""
