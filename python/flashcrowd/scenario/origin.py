"""A content server with its disk, and those who download from it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import Discriminator, Field, model_validator

from flashcrowd.base.units import Size, Span, UnitError
from flashcrowd.scenario.arrivals import Arrivals, FlashCrowd
from flashcrowd.scenario.described import Described, kinds, literal, union
from flashcrowd.scenario.fields import (
    Count,
    DelaySpan,
    Name,
    PositiveSize,
    PositiveSpan,
    Probability,
    Table,
    Word,
    kind_from,
    shorthand,
    within,
)
from flashcrowd.scenario.mirror import Mirror, Written, from_plan, plain

MOST_EXTENTS = 100_000_000
"""Extents of all files of an origin, as of a plan."""


_POLICIES = kinds("policy", globals())
POLICIES: tuple[type[Table], ...] = tuple(_POLICIES.values())
"""All policies, in the order in which they are shown."""


class ConstantPositioning(Table):
    """The same time to any place."""

    kind: Literal["constant"] = "constant"
    time: DelaySpan
    """How long it takes to a place that is not the one behind the last read's."""


class PositioningByDistance(Table):
    """Longer the farther it is: the time to settle, half a turn, and a part of the full stroke.

    The part is the square root of the distance (Ruemmler and Wilkes 1994).
    """

    kind: Literal["distance"] = "distance"
    settle: DelaySpan = Span("1 ms")
    """The least, to the next track."""
    half_turn: DelaySpan = Span("4.17 ms")
    """Half a turn of the platter; the default is that of 7200 turns a minute."""
    full_stroke: DelaySpan = Span("12 ms")
    """What the way over the whole disk adds."""


PositioningTable = Annotated[ConstantPositioning | PositioningByDistance, Discriminator("kind")]


def _positioning(given: dict[str, Any]) -> Written:
    kind = ConstantPositioning if given["kind"] == "constant" else PositioningByDistance
    return from_plan(kind, given)


Positioning = Annotated[
    PositioningTable,
    Mirror(plain, _positioning),
    kind_from("distance", time="constant"),
    shorthand("time", PositioningTable | str, kind="constant"),
]


_DISKS = kinds("disk", globals(), {"Positioning": Positioning})
DISKS: tuple[type[Table], ...] = tuple(_DISKS.values())
"""All kinds of disks, in the order in which they are shown."""
HardDisk: type[Described] = _DISKS["hard-disk"]
Ssd: type[Described] = _DISKS["ssd"]
NetworkVolume: type[Described] = _DISKS["network-volume"]

if TYPE_CHECKING:
    Policy = Disk = Described
else:
    _Policy = Annotated[union(POLICIES), Discriminator("kind")]
    Policy = Annotated[_Policy, shorthand("kind", _Policy | literal([*_POLICIES]))]
    _Disk = Annotated[union(DISKS), Discriminator("kind")]
    Disk = Annotated[
        _Disk,
        kind_from(
            "hard-disk",
            channels="ssd",
            requests_per_second="network-volume",
            price="network-volume",
        ),
        shorthand("kind", _Disk | literal([*_DISKS])),
    ]


class Files(Table):
    """The files of a server."""

    count: Annotated[int, Field(ge=1, le=1_000_000)] = 1
    """How many."""
    size: Annotated[Size, within(Size("1 B"), Size("16 TiB"))]
    """The length of each."""
    zipf: Annotated[float, Field(ge=0, le=10)] = 0.0
    """The exponent of Zipf's law: the n-th file is asked for n^-zipf times as often as the first; 0
    for files that are equally popular."""


class Clients(Table):
    """Clients of one kind, one on each host: each downloads one file and goes."""

    group: str | list[str]
    """The group of hosts that they run on, or several."""
    hosts: Literal["all"] | Count = "all"
    """How many hosts: the next ones that no earlier population of this origin took. Of several
    groups these are the hosts of the first group, then of the second; `share` takes of each."""
    share: Annotated[Probability | None, Word("none")] = None
    """Instead of `hosts`: the part of each of its groups, from "0 %" to "100 %". Shares of a group
    that add up to 100 % take each of its hosts once; "none" where `hosts` says how many."""
    in_order: bool = False
    """Whether they take a file in its order only, as clients do that do not say otherwise."""
    arrivals: Arrivals = Field(default_factory=FlashCrowd)
    """When they come: within 10 s of the start, unless given."""


class Origin(Table):
    """A content server, which reads files from a disk, and those who download from it.

    Each client opens a connection, asks for one file and gets it over this connection. Files are
    cut into extents, which are read and kept whole, and extents into blocks, which are sent. The
    policy says which blocks a client gets next, what is read and what is kept.
    """

    kind: Literal["origin"] = "origin"
    host: str
    """The server's host."""
    transport: str = "inherit"
    """What carries the connections, by name; "inherit" for the hosts' TCP stacks."""
    files: Annotated[Files, shorthand("size", Files | PositiveSize)]
    """What it has; a plain size for one file."""
    policy: Policy = _POLICIES["relevance"]()
    """In which order blocks are sent, and what is read and kept: a name, or a table with its `kind`
    and what differs from its defaults."""
    memory: PositiveSize = Size("256 MiB")
    """Memory for what is read, reads under way included."""
    disk: Disk = HardDisk()
    """What the files lie on: a name, or a table with what differs from its defaults."""
    block: PositiveSize = Size("64 KiB")
    """What is sent at once: a power of two."""
    extent: PositiveSize = Size("1 MiB")
    """What is read and kept at once: a power of two, 1 to 64 blocks."""
    reads: Annotated[int, Field(ge=1, le=1024)] = 2
    """Reads under way at most; further ones wait in the server."""
    patience: PositiveSpan = Span("60 s")
    """A client whose socket accepts nothing of a block for this long is given up."""
    unsent: Annotated[Size, within(Size("1 B"), Size("1 GiB"))] = Size("64 KiB")
    """A client is handed its next block when less than so much waits in its socket to be sent
    (TCP_NOTSENT_LOWAT)."""
    request: Annotated[Size, within(Size("1 B"), Size("1 MiB"))] = Size("400 B")
    """Length of a request."""
    head: Annotated[Size, within(Size("0 B"), Size("1 MiB"))] = Size("300 B")
    """Length of the head of an answer."""
    part: Annotated[Size, within(Size("0 B"), Size("1 MiB"))] = Size("150 B")
    """Bytes before each run of blocks in an answer whose blocks come in any order: a boundary and
    the head of a part of multipart/byteranges (RFC 9110).
    """
    populations: dict[Name, Clients] = Field(default_factory=dict[Name, Clients])
    """Those who download; there may be none where it is a web seed of a swarm."""

    @property
    def carried_by(self) -> str:
        """The name of its transport."""
        return self.transport

    @property
    def ends(self) -> bool:
        """A run waits for its downloads."""
        return True

    @model_validator(mode="after")
    def _cut(self) -> Self:
        block, extent = self.block.bytes, self.extent.bytes
        if block & (block - 1) or block > 1 << 30:
            raise UnitError("a power of two, at most 1 GiB, as 64 KiB", key="block")
        if extent & (extent - 1) or not 1 <= extent // block <= 64 or extent > 1 << 30:
            allowed = f"a power of two, at most 1 GiB: 1 to 64 blocks of {self.block}"
            raise UnitError(allowed, key="extent")
        least = extent * (self.reads + 2)
        if self.memory.bytes < least:
            allowed = f"a size of at least {Size.of(least)}: two extents more than `reads`"
            raise UnitError(allowed, key="memory")
        return self

    @model_validator(mode="after")
    def _fitting(self) -> Self:
        files = self.files
        taken = Size.of(files.count * files.size.bytes)
        if -(-files.size.bytes // self.block.bytes) > 1 << 31:
            raise UnitError(f"at most 2^31 blocks of {self.block} a file", key="files")
        if -(-files.size.bytes // self.extent.bytes) * files.count > MOST_EXTENTS:
            raise UnitError(f"at most {MOST_EXTENTS} extents of {self.extent}", key="files")
        if isinstance(self.disk, HardDisk) and self.disk.size < taken:
            raise UnitError(f"a disk of at least what the files take, {taken}", key="disk")
        return self
