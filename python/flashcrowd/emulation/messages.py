"""What a lab is told and tells, as JSON, a line at a time; `lab.py` says when."""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict

from flashcrowd.base.rows import Row, Rows


class Share(TypedDict):
    """One node's part of a run, see `NodeAssignment`."""

    division: str
    run: int
    node: int
    address: str


class Order(TypedDict):
    """What a lab is to do, see `lab.py`."""

    plan: str
    seed: int
    probe: bool
    folder: str | None
    attachment: Literal["tun", "veth"] | None
    processor: NotRequired[int | None]
    share: NotRequired[Share]


class Said(TypedDict, total=False):
    """What the process of a run says: one of these, but for `tables` and `pace`."""

    progress: float
    standing: dict[str, Any]
    ready: int
    tuned: tuple[int, int, int] | None
    tables: Rows
    pace: Row
    failed: str


class Answer(TypedDict):
    """What the process of a run says at last: its tables, and its pace where a server was alone."""

    tables: Rows
    pace: Row


class Totals(TypedDict):
    """Packets that hosts sent, and what became of them."""

    sent: int
    delivered: int
    lost: int
    dropped: int
    handed_over: int


class Carried(TypedDict):
    """What went to other nodes and came from them: `CarrierReport` of the emulator."""

    refused: int
    lost: int
    late: int
    uncertainty_s: float
    round_trip_s: float


class Report(TypedDict):
    """What the network of a run did: `LabReport` of the emulator."""

    attachment: Literal["tun", "veth"]
    totals: Totals
    links: list[Row]
    series: list[Row]
    queues: list[Row]
    payloads: list[Row]
    seconds: list[Row]
    real_time: bool
    steered: bool
    interface_drops: int
    refused_writes: int
    strays: int
    carrier: Carried | None
