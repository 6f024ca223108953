"""A uTP configuration: everything about it that can change a number.

The fields are those of the engine's configuration; their values come from the one that ships under
the name `base`. The tests compare these tables with the engine's.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Discriminator, Field, model_validator

from flashcrowd.scenario.fields import (
    Natural,
    PositiveSize,
    PositiveSpan,
    Table,
    Word,
    kind_from,
    shorthand,
    within,
)
from flashcrowd.scenario.ledbat import Controller, Ledbat, ledbats
from flashcrowd.scenario.mirror import Mirror, from_plan, to_plan
from flashcrowd.units import Size, Span, UnitError

Datagram = Annotated[Size, within(Size("150 B"), Size("65000 B"))]
Timeout = Annotated[Span, within(Span("1 ms"), Span("1 h"))]
Retries = Annotated[int, Field(ge=0, le=100)]


class PathMtu(Table):
    """How large a datagram the path takes: UDP payload, so uTP headers are included."""

    floor: Datagram
    """What every path takes."""
    ceiling: Datagram
    """What no path is asked for more than."""
    begin: Literal["ceiling", "floor"]
    """With which of the two a connection begins."""
    tolerance: Size
    """Search between the two until they are this close."""
    interval: PositiveSpan
    """Search anew after this long."""
    endless: bool
    """Each round trip has a probe; one lost when all is known starts over from half-way down."""
    probe_window_datagrams: Annotated[int, Field(ge=0, le=1000)]
    """A probe needs a window of more than so many datagrams known to pass; 0: always."""

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.ceiling < self.floor:
            raise UnitError(f"a size of at least floor, {self.floor}", key="ceiling")
        if self.endless and self.begin != "floor":
            raise UnitError('false where a connection does not begin with "floor"', key="endless")
        return self


class PathSize(Table):
    """What the path takes."""

    kind: Literal["path-mtu"] = "path-mtu"


class FixedSize(Table):
    """Always the same."""

    kind: Literal["fixed"] = "fixed"
    size: PositiveSize
    """Payload of each packet."""


class Ladder(Table):
    """Packets that grow with the rate, so that none blocks a slow line for long."""

    kind: Literal["ladder"] = "ladder"
    steps: Annotated[list[PositiveSize], Field(min_length=1, max_length=16)]
    """Payload, rising; the first is where a connection begins, above the last is what fits."""
    period: PositiveSpan
    """How often a step may be taken."""
    target: PositiveSpan
    """The target delay, by which rates are judged."""
    raise_packets: Natural
    """Up when more than this many packets are sent per target delay, ..."""
    raise_window_packets: Natural
    """... and the window holds more than this many."""
    lower_packets: Natural
    """Down when fewer than this many packets are sent per target delay, ..."""
    lower_window_packets: Natural
    """... or the window holds fewer than this many."""


def _size_to_plan(value: Any) -> Any:
    if isinstance(value, PathSize):
        return "path-mtu"
    if isinstance(value, FixedSize):
        return {"fixed": {"bytes": value.size.bytes}}
    made = to_plan(value)
    kind = made.pop("kind")
    made["steps_bytes"] = [size.bytes for size in made.pop("steps")]
    return {kind: made}


def _size_from_plan(given: Any) -> Any:
    if isinstance(given, str):
        return {"kind": given}
    ((kind, value),) = given.items()
    if kind == "fixed":
        return {"kind": kind, "size": str(Size.of(value["bytes"]))}
    steps = [str(Size.of(step)) for step in value["steps_bytes"]]
    rest = {key: item for key, item in value.items() if key != "steps_bytes"}
    return {"kind": kind, "steps": steps, **from_plan(Ladder, rest)}


SizeTable = Annotated[PathSize | FixedSize | Ladder, Discriminator("kind")]


def _fill_to_plan(value: Any) -> Any:
    return {"exact": {"least_bytes": value.bytes}} if isinstance(value, Size) else value


def _fill_from_plan(given: Any) -> Any:
    return given if isinstance(given, str) else str(Size.of(given["exact"]["least_bytes"]))


def _was_bool(off: str, on: str, kinds: Any) -> BeforeValidator:
    """Takes true and false, which the key once had, for two of its words."""

    def word(given: Any) -> Any:
        return given if not isinstance(given, bool) else on if given else off

    return BeforeValidator(word, json_schema_input_type=bool | kinds)


def _sack_to_plan(value: Any) -> Any:
    return {"fixed": {"bytes": value.bytes}} if isinstance(value, Size) else value


def _sack_from_plan(given: Any) -> Any:
    return given if isinstance(given, str) else str(Size.of(given["fixed"]["bytes"]))


class LossDetection(Table):
    """How losses are found before the timer finds them."""

    duplicate_acks: Natural
    """A packet is lost after so many STATE packets with the number before it; 0 for never."""
    any_window: bool
    """Whether such a packet counts whatever its window, or not if it opens the window."""
    in_a_row: bool
    """Whether the count begins anew with any other packet, or with an acknowledgement alone."""
    sacked_after: Natural
    """A packet is lost when at least this many later ones have arrived; 0 reads no masks."""
    resends_per_ack: Annotated[int, Field(ge=1, le=64)]
    """Packets resent for one acknowledgement at most."""
    after_timeout: bool
    """Whether a packet resent for a timeout may be found lost before the next."""


class DelayedAck(Table):
    """When the receiver acknowledges data that arrives in order."""

    bytes: Annotated[Size, Field(serialization_alias="bytes")]
    """Acknowledge at once when at least this much waits; "0 B" acknowledges everything at once."""
    max: Annotated[Span, within(Span("0 ms"), Span("1 s"))]
    """Longest wait."""


class Utp(Table):
    """A uTP configuration (BEP 29)."""

    base: str
    """The configuration that ships whose values hold where none are given."""
    path_mtu: PathMtu
    """How large a datagram the path takes, and whether that is searched for."""
    packet_size: Annotated[
        SizeTable,
        kind_from(None, size="fixed", steps="ladder"),
        shorthand("size", SizeTable | PositiveSize, kind="fixed"),
        Mirror(_size_to_plan, _size_from_plan),
    ]
    """How much payload a packet carries: a size, or a rule."""
    window_fill: Annotated[
        Literal["whole"] | Size,
        Mirror(_fill_to_plan, _fill_from_plan),
    ]
    """Packets are whole, or are cut to this size at least so that they fill the window."""
    small_window: Literal["wait", "paced"]
    """What happens when the window is smaller than one packet and nothing is in flight."""
    nagle: Annotated[
        Literal["off", "classic", "minshall"],
        _was_bool("off", "classic", Literal["off", "classic", "minshall"]),
    ]
    """Hold back a packet that is not full: never, while anything is unacknowledged, or only while
    another that was not full is ("minshall")."""
    controller: Controller
    """The congestion controller."""
    ledbat: Annotated[Ledbat | None, Word("none")]
    """What a controller of the LEDBAT family needs; the others do not read it."""
    hystart: Literal["none", "linux", "plus-plus"]
    """How slow start ends before a loss ends it; CUBIC only."""
    pacing: Literal["off", "fq"]
    """Spread packets over the round trip; "fq" as Linux does. BBR paces with either."""
    window_packet: Literal["payload", "probe"]
    """What the controller takes for a packet: a full one's payload, or the datagram that a probe of
    the path would have."""
    initial_window_packets: Annotated[int, Field(ge=1, le=1000)]
    """Initial window, in packets."""
    initial_window: Annotated[Size, within(Size("0 B"), Size("16 MiB"))]
    """The same as a size, if that is more."""
    send_buffer: Size
    """How much unacknowledged and unsent data the sender holds."""
    receive_buffer: Annotated[Size, within(Size("1 B"), Size("1 GiB"))]
    """How much the receiver offers to hold for the application."""
    rtt_estimator: Literal["rfc6298", "sliding-average"]
    """Gains of 1/8 and 1/4 for packets sent once, or of 1/16 at last for all packets."""
    initial_rto: Timeout
    """Retransmission timeout before the first round-trip sample."""
    min_rto: Timeout
    """Least retransmission timeout."""
    max_rto: Timeout
    """Greatest retransmission timeout, back-off included."""
    rto_deviations: Annotated[int, Field(ge=1, le=16)]
    """The timeout is the smoothed round trip and so many mean deviations."""
    backoff: Literal["doubling", "seconds"]
    """What one timeout after another adds: twice as long each time, or 1, 2, 4 ... seconds."""
    keep_backoff: bool
    """Keep the longer timeout until a packet that was sent once is acknowledged (RFC 6298)."""
    timer_restart: Literal["progress", "any-packet"]
    """What starts the retransmission timer anew and ends its back-off: an acknowledgement of
    something new, or any packet."""
    timer_grain: Annotated[Span, within(Span("0 ms"), Span("10 s"))]
    """Timers are examined only at multiples of this; "0 ms" examines them in time."""
    syn_retries: Retries
    """How often a SYN is repeated before the connection fails."""
    data_retries: Retries
    """How often in a row data may time out and be sent again before the connection fails."""
    max_transmissions: Annotated[int, Field(ge=0, le=1000)]
    """The connection fails when a packet times out that was sent so often in all; 0: never."""
    loss_detection: LossDetection
    """How losses are found before the timer finds them."""
    stale_acks: Annotated[int, Field(ge=0, le=1024)]
    """How far behind the oldest unacknowledged packet an acknowledgement number may lie."""
    masked_bytes_only: bool
    """Whether, where an acknowledgement has a mask, the window hears of the bytes that the mask
    delivers alone, and not of those that the number does."""
    idle_timer: Annotated[
        Literal["off", "backing-off", "steady"],
        _was_bool("off", "backing-off", Literal["off", "backing-off", "steady"]),
    ]
    """Whether the timer goes on when nothing is in flight and the controller hears of it, at
    intervals that grow or at equal ones."""
    sack: Annotated[
        Literal["off", "as-needed"] | Size,
        Mirror(_sack_to_plan, _sack_from_plan),
    ]
    """What is said of packets out of order: nothing, a mask of this size, or one that fits."""
    delayed_ack: DelayedAck
    """When the receiver acknowledges."""
    acknowledge_end_twice: bool
    """Acknowledge the end of the stream at once, and once more like any packet."""
    zero_window_probe: Timeout
    """The longest wait between probes of a closed window of the other end: one packet, first
    after a retransmission timeout and then as its back-off has it."""
    keep_alive: Span
    """Say something after so much silence; "0 s" for never."""
    silence_timeout: Span
    """Give up when nothing has arrived for so long, expected or not; "0 s" for never."""
    half_open: PositiveSpan
    """For how long an accepted connection may wait for a second packet of the other end."""
    linger: Span
    """How long the end that closed first stays to answer a repeated FIN."""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        for name, rto in (("min_rto", self.min_rto), ("initial_rto", self.initial_rto)):
            if self.max_rto < rto:
                raise UnitError(f"a time of at least {name}, {rto}", key="max_rto")
        if self.controller in ledbats() and self.ledbat is None:
            raise UnitError(f"a table for the controller {self.controller}", key="ledbat")
        if self.send_buffer.bytes < 2 * self.path_mtu.ceiling.bytes:
            raise UnitError("a size of at least two packets", key="send_buffer")
        return self
