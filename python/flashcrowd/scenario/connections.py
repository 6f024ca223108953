"""Which connections are logged, event by event."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from flashcrowd.base.units import Span
from flashcrowd.scenario.fields import PositiveSpan, Table, Word

Names = Annotated[list[str], Field(min_length=1)]


class Connections(Table):
    """Logs of connections in the words of qlog, one for each end: what a capture cannot show."""

    of: Literal["all"] | Names = "all"
    """Names of the workloads whose connections are logged; "all" for all that open connections."""
    hosts: Literal["all"] | Names = "all"
    """Hosts and groups at which ends of connections are logged; "all" for both ends of each."""
    begin: Span = Field(default=Span("0 s"), alias="from")
    """The first instant whose events are logged (in a file: `from`)."""
    to: Annotated[PositiveSpan | None, Word("end")] = None
    """The first instant whose events are not; "end" for the end of the run."""
    packets: bool = True
    """Every packet that is sent or arrives."""
    metrics: bool = True
    """Congestion window, bytes in flight, round-trip times, whenever one of them has changed."""
    timers: bool = False
    """Every time that the loss timer is set or cancelled; that it expires is logged anyway."""
