"""What is recorded, and when a run ends that does not end by itself."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from flashcrowd.base.units import Span
from flashcrowd.base.words import Sampled, Windowed
from flashcrowd.scenario.capture import Capture
from flashcrowd.scenario.connections import Connections
from flashcrowd.scenario.fields import (
    Interval,
    MaybeInterval,
    MaybePositiveSpan,
    PositiveSpan,
    Table,
    Word,
)


class Window(Table):
    """The part of a run that counts: what is before is warm-up, what is after is cool-down."""

    begin: Span = Field(default=Span("0 s"), alias="from")
    """The first instant that counts (in a file: `from`)."""
    to: Annotated[PositiveSpan | None, Word("end")] = None
    """The first instant that counts no more; "end" for the end of the run."""


class Measures(Table):
    """What is recorded besides the summary tables."""

    series: dict[Sampled, Interval] = Field(default_factory=dict)
    """Time series, each with its sampling interval."""
    pieces: MaybeInterval = None
    """Interval at which the pieces that leechers have are counted."""
    queues: MaybeInterval = None
    """Interval at which the queues of all links are looked at, for the distribution of lengths."""
    send_gaps: bool = False
    """The distribution of the time between sends to one connection."""
    payloads: bool = False
    """The distribution of TCP payload lengths."""
    rtts: bool = False
    """TCP's round-trip time estimate, sampled at each send of a peer."""
    unchokes: bool = False
    """Every unchoke that ended."""
    packets: MaybePositiveSpan = None
    """Every packet that transfers send in this time from the start, as a capture shows them."""
    have: bool = False
    """When each leecher completed each piece: what a report plays a swarm back from."""
    capture: Annotated[Capture | None, Word("none")] = None
    """Packets with their bytes, as they pass the interfaces of hosts: for Wireshark."""
    connections: Annotated[Connections | None, Word("none")] = None
    """Logs of connections, event by event, in the words of qlog."""
    window: Window = Window()
    """The time that the tables `links`, `transfers`, `pings`, `pages`, `calls` and `origins` cover.
    A download from an origin belongs to it if it began inside.
    """
    windows: dict[Windowed, Window] = Field(default_factory=dict)
    """The same for single ones of these tables, in its place."""

    def window_of(self, table: Windowed) -> Window:
        """The time of a run that a table covers."""
        return self.windows.get(table, self.window)


class Stop(Table):
    """When a run ends that does not end by itself."""

    horizon: PositiveSpan = Span("24 h")
    """Simulated time after which a run is cut off."""
    stall: PositiveSpan = Span("30 min")
    """A swarm or an origin without a received block for this long is stalled."""
