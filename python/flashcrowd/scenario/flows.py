"""Workloads of one flow or few: transfers and pings."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from flashcrowd.scenario.fields import (
    Interval,
    MaybePositiveSpan,
    MaybeRate,
    MaybeSize,
    Natural,
    PositiveSize,
    Table,
)
from flashcrowd.units import Size, Span


class Transfer(Table):
    """Flows from one host to another.

    `from` and `to` name hosts, or groups: one host to each host of a group, or pair by pair between
    groups of equal size.
    """

    kind: Literal["transfer"] = "transfer"
    source: str = Field(alias="from")
    """The sending host (in a file: `from`); it opens the connection."""
    to: str
    """The receiving host."""
    transport: str = "inherit"
    """What carries the flows, by name; "inherit" for the hosts' TCP stacks."""
    flows: Natural = 1
    """How many connections side by side; 0 for none, at a point of a sweep over mixtures."""
    size: MaybeSize = None
    """What each flow sends; "none" to send until it stops."""
    limit: MaybeRate = None
    """The application's limit for each flow."""
    start: Span = Span("0 s")
    """When it starts."""
    spread: Span = Span("0 s")
    """Each flow starts at a random instant of this window after `start`."""
    stop: MaybePositiveSpan = None
    """When it stops, finished or not."""


class Ping(Table):
    """Echo requests at a fixed interval: what a bystander feels."""

    kind: Literal["ping"] = "ping"
    source: str = Field(alias="from")
    """The asking host (in a file: `from`)."""
    to: str
    """The answering host."""
    size: PositiveSize = Size("84 B")
    """Size of the IP packet, each way."""
    interval: Interval = Span("1 s")
    """Time between requests."""
    start: Span = Span("0 s")
    """When it starts."""
    stop: MaybePositiveSpan = None
    """When it stops; "none" to go on as long as the run."""
