"""Calls: datagrams at a constant rate, both ways."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from flashcrowd.base.units import Size, Span, UnitError
from flashcrowd.scenario.fields import MaybeInterval, MaybePositiveSpan, PacketSize, within
from flashcrowd.scenario.flows import Flow

PacketInterval = Annotated[Span, within(Span("1 us"), Span("1 d"))]
"""Time between two packets."""


class Call(Flow):
    """A stream of datagrams at a constant rate, from each host to the other: voice or video.

    The defaults are voice as G.711 codes it (64 kbit/s), 20 ms a packet: 160 B and 40 B of IP, UDP
    and RTP headers. Video of 1 Mbit/s is `size = "1200 B"` and `interval = "9.6 ms"`.
    """

    kind: Literal["call"] = "call"
    source: str = Field(alias="from")
    """One host (in a file: `from`)."""
    to: str
    """The other."""
    size: PacketSize = Size("200 B")
    """Size of each IP packet."""
    interval: PacketInterval = Span("20 ms")
    """Time between the packets of one direction."""
    every: MaybeInterval = Span("1 s")
    """Packets that are sent within this time share a row of the table `calls`; "none" for one row
    in all.
    """
    start: Span = Span("0 s")
    """When it starts."""
    stop: MaybePositiveSpan = None
    """When it stops; "none" to go on as long as the run."""

    @model_validator(mode="after")
    def _filled(self) -> Self:
        if self.every is not None and self.every < self.interval:
            raise UnitError(f"a time of at least interval, {self.interval}", key="every")
        return self
