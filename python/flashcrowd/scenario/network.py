"""Hosts, and what lies between them."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Discriminator, Field, Strict, Tag

from flashcrowd.base.units import Span
from flashcrowd.scenario.discipline import AnyQueue
from flashcrowd.scenario.distribution import RttDistribution
from flashcrowd.scenario.fields import Count, DelaySpan, Name, Table, Word
from flashcrowd.scenario.framing import Framing
from flashcrowd.scenario.impairments import (
    Inherit,
    InheritedJitter,
    InheritedLoss,
    MaybeJitter,
    MaybeLoss,
    MaybePathLoss,
)
from flashcrowd.scenario.line import Access
from flashcrowd.scenario.queue import Queue
from flashcrowd.scenario.topology import At, MaybeTopology
from flashcrowd.scenario.trace import LinkRate


def _rtt_tag(given: object) -> str:
    if given == "inherit":
        return "inherit"
    return "distribution" if isinstance(given, dict | RttDistribution) else "fixed"


Rtt = Annotated[
    Annotated[DelaySpan, Tag("fixed")] | Annotated[RttDistribution, Tag("distribution")],
    Discriminator(_rtt_tag),
]
"""Round-trip time: one for all, or drawn for each pair of hosts from a distribution."""

InheritedRtt = Annotated[
    Annotated[Inherit, Tag("inherit")]
    | Annotated[DelaySpan, Tag("fixed")]
    | Annotated[RttDistribution, Tag("distribution")],
    Discriminator(_rtt_tag),
]


class Devices(Table):
    """Delays of the two network devices of a machine that runs all hosts of the group.

    Each packet meets a device twice, on its way out of one host and on its way into the other. Two
    hosts of one group meet over loopback: their round trip grows by 4 × `loopback`. Hosts of
    different groups meet over Ethernet: 2 × (`ethernet` of the one + `ethernet` of the other).
    """

    loopback: DelaySpan = Span("0 ms")
    """Delay of the loopback device, at each crossing."""
    ethernet: DelaySpan = Span("0 ms")
    """Delay of the Ethernet device, at each crossing."""


class Group(Table):
    """Hosts of one kind. They are called `<group>-1`, `<group>-2` and so on."""

    hosts: Count = 1
    """How many."""
    access: Access = None
    """The line that connects each of them: a name, its rates as in "5/50 Mbit/s", a table, or
    "none" for a connection without limits."""
    stack: str = "inherit"
    """Their TCP stack; "inherit" for that of the network."""
    devices: Annotated[Devices | None, Word("none")] = None
    """Delays of the machine that runs the group."""
    at: At = Field(default_factory=list)
    """The place of the topology where they are, or several, to which they are dealt one by one."""


class Direction(Table):
    """One direction of a shared link."""

    rate: LinkRate
    """Rate; "unlimited" for a link without a queue; or a trace: `{ file = "lte.csv" }`."""
    queue: AnyQueue = Queue("100 packets")
    """Where the drop-tail queue is full, or another discipline."""
    delay: DelaySpan = Span("0 ms")
    """One-way propagation delay."""
    framing: Framing = Framing("0 B")
    """What a frame costs beyond its IP packet, "ethernet" (38 B), "shaper" (14 B), "ip" (0 B) or a
    size; or "atm", whole cells with an encapsulation of 40 B."""
    jitter: MaybeJitter = None
    """Random delay."""
    loss: MaybeLoss = None
    """Random loss."""


class Link(Direction):
    """A link that several hosts share. Both directions are alike unless `back` is given."""

    back: Annotated[
        Annotated[Literal["same"], Tag("same")] | Annotated[Direction, Tag("own")],
        Discriminator(lambda given: "same" if given == "same" else "own"),
    ] = "same"
    """The direction back, as a table of its own; "same" if it is like the direction forth."""


class Path(Table):
    """What lies between two groups, or between the hosts of one, where it is not as elsewhere."""

    between: Annotated[tuple[str, str], Strict(False)]
    """The two groups; twice the same for paths inside it. Forth is from the first to the second."""
    through: list[str] = Field(default_factory=list)
    """Shared links on the way forth, in order; the way back crosses them in reverse."""
    rtt: InheritedRtt = "inherit"
    """Round-trip time without links, access lines and devices; "inherit" for the network's."""
    jitter: InheritedJitter = "inherit"
    """Random delay of each direction; "inherit" for the network's."""
    loss: InheritedLoss = "inherit"
    """Random loss of each direction; "inherit" for the network's."""


class Network(Table):
    """Hosts and what lies between them.

    Delays add up: the round-trip time between two hosts is `rtt` (of their path, or else of the
    network), plus the delays of shared links, of access lines and of devices, each way.
    """

    rtt: Rtt = Span("0 ms")
    """Round-trip time between any two hosts."""
    jitter: MaybeJitter = None
    """Random delay between any two hosts, each direction."""
    loss: MaybePathLoss = None
    """Random loss between any two hosts, each direction."""
    stack: str = "linux-6"
    """TCP stack of all hosts whose group names no other."""
    groups: dict[Name, Group] = Field(min_length=1)
    """The hosts, by group."""
    links: dict[Name, Link] = Field(default_factory=dict)
    """Shared links."""
    paths: dict[Name, Path] = Field(default_factory=dict)
    """Pairs of groups between which it is not as elsewhere, or which a shared link joins."""
    topology: MaybeTopology = None
    """A map with places for the hosts and edges between them, from a GraphML file, or "none"."""
