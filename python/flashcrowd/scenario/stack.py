"""A TCP stack: everything about it that can change a number.

The fields are those of the engine's configuration; their values come from the stack that ships
under the name `base`. The tests compare these tables with the engine's.
"""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from flashcrowd.scenario.fields import Natural, Table, Word, within
from flashcrowd.scenario.ledbat import RTT_BASED, Controller, Ledbat, ledbats
from flashcrowd.units import Size, Span, UnitError

Rto = Annotated[Span, within(Span("1 ms"), Span("1 h"))]
Retries = Annotated[int, Field(ge=0, le=100)]
AckDelay = Annotated[Span, within(Span("0 ms"), Span("1 s"))]
Buffer = Annotated[Size, within(Size("512 B"), Size("1 GiB"))]


class DelayedAck(Table):
    """When the receiver acknowledges data that arrives in order."""

    segments: Annotated[int, Field(ge=1, le=1000)]
    """Acknowledge at once when so many full segments have arrived; 1 acknowledges everything."""
    min: AckDelay
    """Shortest wait for more data."""
    max: AckDelay
    """Longest wait for more data."""
    quick_acks: Natural
    """How many segments are acknowledged one by one at the start, after a long pause and after data
    that comes twice; if any, so is each with which the window grows."""
    on_read: bool
    """Whether an acknowledgement that could not open the window waits for the application."""

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.max < self.min:
            raise UnitError(f"a time of at least min, {self.min}", key="max")
        return self


class ReceiveWindow(Table):
    """What the receiver advertises."""

    initial: Buffer
    """First window; it opens by two segments per full segment received, up to `buffer`."""
    buffer: Buffer
    """The receive buffer before any tuning."""
    max: Buffer
    """The receive buffer's limit when it is tuned."""
    autotune: bool
    """Enlarge the buffer to twice of what the application reads in a round trip."""

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.buffer < self.initial:
            raise UnitError(f"a size of at least initial, {self.initial}", key="buffer")
        if self.max < self.buffer:
            raise UnitError(f"a size of at least buffer, {self.buffer}", key="max")
        return self


class SendBuffer(Table):
    """How much unacknowledged and unsent data the sender holds."""

    initial: Buffer
    """Size before any tuning."""
    max: Buffer
    """Limit when tuned."""
    autotune: bool
    """Keep it at twice the largest congestion window so far."""

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.max < self.initial:
            raise UnitError(f"a size of at least initial, {self.initial}", key="max")
        return self


class Stack(Table):
    """A TCP stack."""

    base: str
    """The stack that ships whose values hold where none are given."""
    mtu: Annotated[Size, within(Size("256 B"), Size("65535 B"))]
    """Largest IP packet."""
    timestamps: bool
    """Offer timestamps (RFC 7323), 12 bytes in each segment."""
    free_timestamps: bool
    """Timestamps take no room in a segment, as in ns-2."""
    window_scaling: bool
    """Offer window scaling; unless both ends do, windows end at 65535 B."""
    sack: bool
    """Offer selective acknowledgements (RFC 2018); without, recovery is NewReno's (RFC 6582)."""
    dsack: bool
    """With SACK, report data that arrives twice, and believe such reports (RFC 2883)."""
    forward_ack: bool
    """With SACK, count all below the highest SACKed byte as having left the network (FACK)."""
    rack: bool
    """With SACK, find losses by time (RFC 8985)."""
    reduction: Literal["classic", "rate-halving", "prr"]
    """How the window comes down during recovery."""
    controller: Controller
    """The congestion controller."""
    ledbat: Annotated[Ledbat | None, Word("none")]
    """What a controller of the LEDBAT family needs; the others do not read it."""
    hystart: Literal["none", "linux", "plus-plus"]
    """How slow start ends before a loss ends it; CUBIC only."""
    pacing: Literal["off", "fq"]
    """Spread packets over the round trip; "fq" as Linux does. BBR paces with either."""
    count_acks: bool
    """Slow start grows by one segment for each acknowledgement, however much it covers."""
    limited_transmit: bool
    """Send a new segment on each of the first two duplicate acknowledgements (RFC 3042)."""
    tail_loss_probe: bool
    """Probe after two round trips of silence instead of waiting for the timer (RFC 8985)."""
    undo: bool
    """Take a reduction back when timestamps or D-SACKs prove that nothing was lost (RFC 3522)."""
    ecn: Literal["off", "passive", "on", "accurate"]
    """Answer congestion marks: never, if asked, ask for RFC 3168, ask for RFC 9768 (AccECN)."""
    initial_window_segments: Annotated[int, Field(ge=1, le=1000)]
    """Initial window, in segments."""
    initial_rto: Rto
    """Retransmission timeout before the first round-trip sample."""
    min_rto: Rto
    """Least retransmission timeout."""
    max_rto: Rto
    """Greatest retransmission timeout, back-off included."""
    rto_floor: Literal["variance", "timeout"]
    """What `min_rto` bounds: the variance term (Linux) or the timeout itself (RFC 6298)."""
    delayed_ack: DelayedAck
    """When the receiver acknowledges."""
    nagle: Literal["off", "classic", "minshall"]
    """When a segment that is not full must wait."""
    receive_window: ReceiveWindow
    """What the receiver advertises."""
    right_sizing: Literal["linux-2.6", "linux-6.16"]
    """How the receive buffer is tuned, if it is: with a margin of 16 segments, or without one."""
    send_buffer: SendBuffer
    """How much unacknowledged and unsent data the sender holds."""
    app_limited_validation: bool
    """Grow the congestion window only if it was the limit; let it decay while unused (RFC 2861)."""
    idle_restart: bool
    """After silence, halve the window once per retransmission timeout (RFC 2861)."""
    tso: Annotated[Size, within(Size("0 B"), Size("1 MiB"))]
    """Largest super-segment handed to the network card to cut up; "0 B" for none."""
    tso_push: bool
    """PSH on the last segment of what the kernel sends in one piece (Linux: TSO packets)."""
    tso_defer: bool
    """Wait for room for such a piece if the next acknowledgement makes it (Linux)."""
    syn_retries: Retries
    """How often a SYN is repeated before the connection fails."""
    data_retries: Retries
    """How often in a row the timer may resend data before the connection fails."""
    time_wait: Span
    """How long the end that closed first stays to answer a repeated FIN."""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        for name, rto in (("min_rto", self.min_rto), ("initial_rto", self.initial_rto)):
            if self.max_rto < rto:
                raise UnitError(f"a time of at least {name}, {rto}", key="max_rto")
        if self.controller in ledbats():
            if self.ledbat is None:
                raise UnitError(f"a table for the controller {self.controller}", key="ledbat")
            if not self.timestamps and self.controller not in RTT_BASED:
                allowed = f"true, since the controller {self.controller} goes by one-way delay"
                raise UnitError(allowed, key="timestamps")
        two_packets = 2 * self.mtu.bytes
        for name, size in (
            ("receive_window.initial", self.receive_window.initial),
            ("send_buffer.initial", self.send_buffer.initial),
        ):
            if size.bytes < two_packets:
                raise UnitError(f"a size of at least two packets, {two_packets} B", key=name)
        return self
