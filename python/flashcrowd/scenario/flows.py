"""Workloads between two hosts: what they share, and the two oldest, transfers and pings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import Field

from flashcrowd.base.units import Size, Span
from flashcrowd.scenario.fields import (
    Interval,
    MaybePositiveSpan,
    MaybeRate,
    MaybeSize,
    PacketSize,
    Table,
)

MOST_FLOWS = 1_000_000
"""Most flows of one transfer, as of a plan."""


class Flow(Table):
    """What goes on between two hosts, from a start to a stop.

    A subclass declares the fields below, and what else it has. It is lowered by the rules of
    `mirror`: a field has in the plan the name that it has here, with the ending of its unit.
    """

    if TYPE_CHECKING:  # Declared by each, so that each has them where they belong in its table.
        source: str
        to: str
        start: Span
        stop: MaybePositiveSpan

    plan_keys: ClassVar[Mapping[str, str]] = {}
    """Keys that are called otherwise in the plan."""
    plan_hosts: ClassVar[tuple[str, ...]] = ()
    """Fields that name further hosts."""

    @property
    def carried_by(self) -> str | None:
        """The name of its transport; `None` if it goes by datagrams."""
        return getattr(self, "transport", None)

    @property
    def ends(self) -> bool:
        """Whether a run may wait for its end."""
        return False


TransferProgram = Literal["live", "libtorrent", "libutp"]
"""The programs that can play the flows of a transfer over uTP."""


class Transfer(Flow):
    """Flows from one host to another.

    `from` and `to` name hosts, or groups: one host to each host of a group, or pair by pair between
    groups of equal size.
    """

    plan_keys: ClassVar[Mapping[str, str]] = {"limit_bps": "rate_bps"}

    kind: Literal["transfer"] = "transfer"
    source: str = Field(alias="from")
    """The sending host (in a file: `from`); it opens the connection."""
    to: str
    """The receiving host."""
    transport: str = "inherit"
    """What carries the flows, by name; "inherit" for the hosts' TCP stacks."""
    flows: Annotated[int, Field(ge=0, le=MOST_FLOWS)] = 1
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
    program: TransferProgram = "live"
    """The real program that plays flows over uTP on an engine that runs programs: flashcrowd's own
    uTP on UDP sockets, or another one. TCP is the kernel's. The simulation plays the transport."""

    @property
    def ends(self) -> bool:
        """Whether it has a size or a stop."""
        return self.size is not None or self.stop is not None


class Ping(Flow):
    """Echo requests at a fixed interval: what a bystander feels."""

    kind: Literal["ping"] = "ping"
    source: str = Field(alias="from")
    """The asking host (in a file: `from`)."""
    to: str
    """The answering host."""
    size: PacketSize = Size("84 B")
    """Size of the IP packet, each way."""
    interval: Interval = Span("1 s")
    """Time between requests."""
    start: Span = Span("0 s")
    """When it starts."""
    stop: MaybePositiveSpan = None
    """When it stops; "none" to go on as long as the run."""
