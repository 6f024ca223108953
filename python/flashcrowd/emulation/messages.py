"""Messages between labs, their engine and members; `lab.py` says when.

Beside these there are those of `base.messages`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypedDict

from flashcrowd.base.messages import Message, Order
from flashcrowd.base.rows import Row

Attachment = Literal["tun", "veth"]


@dataclass(frozen=True, kw_only=True)
class LabOrder(Order):
    """The order to a lab.

    Attributes:
        folder: for what programs write; None for the lab's argument.
        attachment: how hosts are attached; None for what this machine allows.
        processor: the number of that on which the emulator stays, while hosts receive on others.
    """

    folder: str | None
    attachment: Attachment | None = None
    processor: int | None = None


@dataclass(frozen=True, kw_only=True)
class ShareOrder(LabOrder):
    """The same for one node's part of a run, see `NodeAssignment`."""

    division: str
    run: int
    node: int
    address: str


@dataclass(frozen=True)
class Ready(Message):
    """A lab waits for other nodes: the port of its datagrams."""

    port: int


@dataclass(frozen=True)
class Nodes(Message):
    """Where the datagrams of all nodes arrive, in their order."""

    addresses: list[str]


@dataclass(frozen=True)
class Tuned(Message):
    """The result of `_core.Lab.tune`."""

    clock: Sequence[int] | None


@dataclass(frozen=True)
class Begin(Message):
    """When a run begins, on the clock of the node that hears it."""

    at_ns: int


@dataclass(frozen=True)
class Standing(Message):
    """One node's knowledge of a run.

    Attributes:
        t_s: seconds of the run.
        failure: why it cannot go on; empty while it can.
        finite: flows that can end.
        ended: those that have.
        unfinished: flows with a size that have not, in words.
        part: how far it is, 0 to 1.
        swarms: how far its part of each is, by name, for `_core.SwarmWatch`.
    """

    t_s: float = 0.0
    failure: str = ""
    finite: int = 0
    ended: int = 0
    unfinished: list[str] = field(default_factory=list)
    part: float = 0.0
    swarms: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Missing(Message):
    """In which swarms, by name, a peer of another node lacks pieces."""

    swarms: Mapping[str, bool]


@dataclass(frozen=True)
class End(Message):
    """When a run ends, in its own seconds, how, and why."""

    at_s: float
    outcome: str
    reason: str


@dataclass(frozen=True)
class Programs(Message):
    """The programs, by name, whose versions a member is to tell."""

    names: list[str]


@dataclass(frozen=True)
class Card(Message):
    """The properties of a node, see `card.py`."""

    versions: Mapping[str, str]


class Totals(TypedDict):
    """Packets that hosts sent, and what became of them."""

    sent: int
    delivered: int
    lost: int
    dropped: int
    handed_over: int


class Carried(TypedDict):
    """Packets to other nodes and from them: `CarrierReport` of the emulator."""

    refused: int
    lost: int
    late: int
    uncertainty_s: float
    round_trip_s: float


class Report(TypedDict):
    """The counters of a run's network: `LabReport` of the emulator."""

    attachment: Attachment
    totals: Totals
    seconds: list[Row]
    real_time: bool
    steered: bool
    interface_drops: int
    refused_writes: int
    strays: int
    carrier: Carried | None
