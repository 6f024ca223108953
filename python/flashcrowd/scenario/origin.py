"""A content server with its disk, and those who download from it."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Discriminator, Field, model_validator

from flashcrowd.base.units import Rate, Share, Size, Span, UnitError
from flashcrowd.scenario.arrivals import Arrivals, FlashCrowd
from flashcrowd.scenario.fields import (
    Count,
    DelaySpan,
    Name,
    PositiveRate,
    PositiveSize,
    PositiveSpan,
    Probability,
    Table,
    Word,
    kind_from,
    shorthand,
    within,
)

Replacement = Literal["lru", "s3-fifo"]
"""Which extent gives up its memory: the one that was sent from longest ago, or by S3-FIFO."""

MOST_EXTENTS = 100_000_000
"""Extents of all files of an origin, as of a plan."""


class InOrder(Table):
    """Sequential service: each client gets the file from its beginning to its end."""

    kind: Literal["in-order"] = "in-order"
    read_ahead: bool = True
    """Whether the next extent is read while a client is sent the one before, if the disk has
    nothing else to do."""
    replacement: Replacement = "lru"
    """What is kept."""


class Attach(Table):
    """Circular scan: a client begins where the disk is in its file, and goes around once."""

    kind: Literal["attach"] = "attach"
    read_ahead: bool = True
    """Whether the next extent is read while a client is sent the one before, if the disk has
    nothing else to do."""
    replacement: Replacement = "lru"
    """What is kept."""


class Circus(Table):
    """The active region of Circus (circus2004), which the fastest client moves."""

    kind: Literal["circus"] = "circus"
    active: PositiveSize = Size("16 MiB")
    """The active length: the size of the region. With more files than memory has room for regions,
    all are as much shorter."""
    queue: Annotated[int, Field(ge=1, le=4096)] = 5
    """Blocks that are chosen for a client before its socket has room for them."""
    threshold: Probability = Share("75 %")
    """The part of a file that a client must have before it may take what is outside the region."""
    leapfront: Annotated[float, Field(ge=0, le=1000)] = 1.0
    """How far ahead of the region's begin a block must be, in active lengths, for its client to
    move the region."""
    begin: Literal["region", "file"] = "region"
    """Whether a newcomer begins with what it misses of the region, or at the beginning of the file,
    in whose order it then goes on, without moving the region, until it comes there."""
    follow: Literal["oldest-first", "newest-first"] = "oldest-first"
    """Which way a client goes through the region: in the order of the file, so that it first gets
    what leaves the region first, or against it."""
    slide: Literal["trail", "jump"] = "trail"
    """Whether the block of the client that moves the region is its last or its first one."""
    independence: Literal["region-empty", "while-empty", "at-threshold"] = "region-empty"
    """When a client that has passed the threshold takes what is outside the region: from when the
    region has nothing for it, while it has nothing for it, or at once."""
    lead_bound: Annotated[float, Field(ge=0, le=1e6)] = 4.0
    """How far a client may move the region, in blocks for each block that its socket has accepted,
    beside one active length; 0 for as far as it likes, as in the paper."""
    read_ahead: bool = True
    """Whether the next extent is read while the client that moves the region is sent the one
    before, if the disk has nothing else to do."""
    pin_region: bool = True
    """Whether the region stays in memory whatever `replacement` says. The paper left it to the
    operating system."""
    replacement: Replacement = "lru"
    """What is kept of the rest."""


class Relevance(Table):
    """Choice by relevance: the disk reads what most clients miss, and memory keeps it."""

    kind: Literal["relevance"] = "relevance"
    ahead: Annotated[int, Field(ge=0, le=64)] = 16
    """The next extent for a client is read when at most this many of its blocks in memory are left,
    if the disk is idle; 0 for never before it waits.
    """


PolicyTable = Annotated[InOrder | Attach | Circus | Relevance, Discriminator("kind")]
POLICIES: tuple[type[Table], ...] = (InOrder, Attach, Circus, Relevance)
"""All policies, in the order in which they are shown."""
Policy = Annotated[
    PolicyTable,
    shorthand("kind", PolicyTable | Literal["in-order", "attach", "circus", "relevance"]),
]


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
Positioning = Annotated[
    PositioningTable,
    kind_from("distance", time="constant"),
    shorthand("time", PositioningTable | str, kind="constant"),
]


class HardDisk(Table):
    """One arm over turning platters: a positioning time, and the rate at which it reads on.

    The defaults are the disk of circus2004 as far as it is known: about 10 MB/s of 64 KiB in any
    order.
    """

    kind: Literal["hard-disk"] = "hard-disk"
    positioning: Positioning = ConstantPositioning(time=Span("5 ms"))
    """How long it takes to a place that is not the one behind the last read's; a plain time for the
    same to any place. A gap that is passed sooner is read over."""
    rate: PositiveRate = Rate("40 MB/s")
    """The rate at which it reads on."""
    size: PositiveSize = Size("80 GB")
    """Its size, over which the arm's way is measured. The files lie at its beginning."""


class Ssd(Table):
    """Flash: reads are served side by side, each with a latency, and share the rate of the bus."""

    kind: Literal["ssd"] = "ssd"
    latency: DelaySpan = Span("100 us")
    """From a request to its first byte."""
    channels: Annotated[int, Field(ge=1, le=1024)] = 16
    """Reads side by side."""
    rate: PositiveRate = Rate("550 MB/s")
    """The rate of all together; the default is that of a SATA drive."""


class NetworkVolume(Table):
    """A volume behind a network: requests and bytes a second are bought, and each request may cost.

    The defaults are a small volume as clouds sell them.
    """

    kind: Literal["network-volume"] = "network-volume"
    latency: DelaySpan = Span("2 ms")
    """From a request to its first byte."""
    requests_per_second: Annotated[int, Field(ge=1, le=10**9)] = 3000
    """Requests a second that are bought."""
    rate: PositiveRate = Rate("125 MB/s")
    """The rate that is bought."""
    price: Annotated[float, Field(ge=0, le=1e12)] = 0.0
    """What a request costs, in any unit."""


DiskTable = Annotated[HardDisk | Ssd | NetworkVolume, Discriminator("kind")]
DISKS: tuple[type[Table], ...] = (HardDisk, Ssd, NetworkVolume)
"""All kinds of disks, in the order in which they are shown."""
Disk = Annotated[
    DiskTable,
    kind_from(
        "hard-disk", channels="ssd", requests_per_second="network-volume", price="network-volume"
    ),
    shorthand("kind", DiskTable | Literal["hard-disk", "ssd", "network-volume"]),
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
    policy: Policy = Relevance()
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
