"""The BitTorrent workload."""

from __future__ import annotations

import json
from typing import Annotated, Any, ClassVar, Literal, get_args

from pydantic import BeforeValidator, Discriminator, Field

from flashcrowd.base.units import Share, Size, Span, UnitError
from flashcrowd.base.words import Role
from flashcrowd.scenario.arrivals import Arrivals, FlashCrowd
from flashcrowd.scenario.distribution import SessionDistribution
from flashcrowd.scenario.fields import (
    Count,
    Interval,
    MaybeCount,
    Name,
    Natural,
    Peers,
    PositiveSize,
    PositiveSpan,
    Probability,
    Table,
    UploadRate,
    Word,
    kind_from,
    shorthand,
)
from flashcrowd.scenario.origin import Disk, HardDisk
from flashcrowd.scenario.upload_control import UploadControl


class AtOnce(Table):
    """Leaves as soon as it has the file."""

    said: ClassVar[str] = "leave as soon as they have the file"
    kind: Literal["at-once"] = "at-once"


class After(Table):
    """Leaves a random (exponential) time after it has the file."""

    said: ClassVar[str] = "leave {mean} after completion on average"
    kind: Literal["after"] = "after"
    mean: PositiveSpan
    """Mean of that time."""


class AfterExactly(Table):
    """Leaves a given time after it has the file, as in "after exactly 60 s"."""

    said: ClassVar[str] = "leave {stay} after completion"
    kind: Literal["after-exactly"] = "after-exactly"
    stay: PositiveSpan
    """That time."""


class AfterShare(Table):
    """As `after`, with a mean that is a share of the peer's own download time."""

    said: ClassVar[str] = "leave after {share} of their own download time on average"
    kind: Literal["after-share"] = "after-share"
    share: Share
    """Mean of that time as a share of the download time."""


class Never(Table):
    """Stays until the run ends."""

    said: ClassVar[str] = "stay to the end"
    kind: Literal["never"] = "never"


class AllDone(Table):
    """Leaves when every leecher of the swarm has the file."""

    said: ClassVar[str] = "stay until all are done"
    kind: Literal["all-done"] = "all-done"


DepartureTable = Annotated[
    AtOnce | After | AfterExactly | AfterShare | Never | AllDone | SessionDistribution,
    Discriminator("kind"),
]

DEPARTURES: dict[str, str] = {
    it.model_fields["kind"].default: it.said
    for it in get_args(get_args(DepartureTable)[0])
    if it is not SessionDistribution
}
"""Each kind of departure, in a sentence about the peers."""

_Words = Literal["at-once", "never", "all-done"]
_EXAMPLES = ["after 10 min", "after exactly 60 s", "after 50 %"]

DepartureText = _Words | Annotated[str, Field(pattern="^after ", examples=[*_EXAMPLES])]


class _SessionFile(Table):
    """Sessions are drawn from a file."""

    file: str
    """A CSV file, its path relative to the study."""


def _after(given: Any) -> Any:
    """The tables of texts such as "after 10 min", "after exactly 60 s" and "after 50 %"."""
    words = given.split(maxsplit=1) if isinstance(given, str) else []
    time = words[1].removeprefix("exactly ").strip() if words[:1] == ["after"] and words[1:] else ""
    if not time or time[0].isalpha():
        if any(map(str.isdigit, "".join(words))):
            forms = (*get_args(_Words), *_EXAMPLES)
            raise UnitError(f"one of {', '.join(map(json.dumps, forms))}")
        return given
    if time != words[1].strip():
        return {"kind": "after-exactly", "stay": time}
    if time.endswith("%"):
        return {"kind": "after-share", "share": time}
    return {"kind": "after", "mean": time}


Departure = Annotated[
    DepartureTable,
    kind_from(
        None,
        mean="after",
        stay="after-exactly",
        share="after-share",
        file="session",
        points="session",
    ),
    shorthand("kind", DepartureTable | _Words),
    BeforeValidator(_after, json_schema_input_type=DepartureTable | DepartureText | _SessionFile),
]


def _default_arrivals(given: dict[str, object]) -> FlashCrowd:
    return FlashCrowd(spread=Span("0 s" if given.get("role") == "seed" else "10 s"))


Program = Literal[
    "libtorrent", "mainline-4.0.2", "transmission", "qbittorrent", "aria2", "rtorrent", "biglybt"
]
"""The programs that an engine can run."""


WITHOUT_UTP: tuple[Program, ...] = ("mainline-4.0.2", "aria2", "rtorrent", "biglybt")
"""Those that have no uTP."""


TrackerProgram = Literal["flashcrowd", "opentracker"]
"""The programs that can be a tracker."""


class Storage(Table):
    """A disk that a seed reads from, and the memory before it.

    A block that is not in memory waits until the extent that it is in has been read. What was sent
    from longest ago makes room.
    """

    disk: Disk = HardDisk()
    """What the file lies on: a name, or a table with what differs from its defaults."""
    memory: PositiveSize
    """Memory for what is read, reads under way included."""
    extent: PositiveSize = Size("256 KiB")
    """What is read and kept at once: a power of two, 1 to 64 blocks."""
    reads: Annotated[int, Field(ge=1, le=1024)] = 2
    """Reads under way at most; further ones wait."""


class Population(Table):
    """Peers of one kind, one on each host."""

    role: Role = "leecher"
    """Whether they bring the file or want it."""
    group: str | list[str]
    """The group of hosts that they run on, or several."""
    hosts: Literal["all"] | Count = "all"
    """How many hosts: the next ones that no earlier population of this swarm took. Of several
    groups these are the hosts of the first group, then of the second; `share` takes of each."""
    share: Annotated[Probability | None, Word("none")] = None
    """Instead of `hosts`: the part of each of its groups, from "0 %" to "100 %". Shares of a group
    that add up to 100 % take each of its hosts once; "none" where `hosts` says how many."""
    profile: str = "mainline-4.0.2"
    """Their client."""
    program: Program = "libtorrent"
    """The real program that plays them on an engine that runs programs, set to the rules of the
    profile as far as it can be. The simulation plays the profile."""
    transport: str = "profile"
    """What carries the connections that they open, by name; "inherit" for the hosts' TCP stacks,
    "profile" for what their client opens by default. Programs without uTP, and clients whose blocks
    have connections of their own, open TCP then."""
    data_transport: Annotated[str | None, Word("none")] = None
    """What carries the blocks that they upload, on connections apart; "none" for no such."""
    upload: UploadRate = None
    """Their client's upload limit; "0 B/s" for clients that upload nothing."""
    upload_control: Annotated[UploadControl | None, Word("none")] = None
    """What sets that limit while they are there, by name or as a table; `upload` is then what the
    client has until its controller says something else. "none" for a limit that stays."""
    storage: Annotated[Storage | None, Word("none")] = None
    """What seeds read from, each from its own; "none" where everything is in memory."""
    arrivals: Arrivals = Field(default_factory=_default_arrivals)
    """When they come: within 10 s of the start, seeds at the start, unless given."""
    departure: Departure = Never()
    """When they go."""
    replace: bool = False
    """Whether a new leecher takes the host of one that left, at once."""

    def opens(self, default: str) -> str:
        """The name of the transport of the connections that they open.

        Args:
            default: that of their client profile.
        """
        if self.transport != "profile":
            return self.transport
        apart = self.data_transport is not None
        return "inherit" if apart or self.program in WITHOUT_UTP else default


class Tracker(Table):
    """The tracker of a swarm: whatever the clients are, it answers by these rules."""

    host: Annotated[str | None, Word("none")] = None
    """Its host: an answer takes two round trips. Without one it is there at once."""
    answer_delay: Span = Span("0 s")
    """What an answer takes besides the way."""
    interval: Interval = Span("1800 s")
    """When clients are to ask again. This and all below as Mainline 4.0.2's tracker has it."""
    default_peers: Peers = 50
    """Peers in an answer to a client that names no number."""
    max_peers: Peers = 200
    """Peers in an answer at most."""
    reshuffle: Span = Span("600 s")
    """The lists from which answers are dealt live no longer than this; "0 s" for one answer."""
    seeds_to_seeds: bool = False
    """Whether an answer to a seed names seeds."""
    forget: PositiveSpan = Span("2700 s")
    """A peer that has not announced for this long is forgotten."""
    program: TrackerProgram = "flashcrowd"
    """What it is on an engine that runs programs: ours, which answers as said here, or opentracker,
    whose rules are its own. The simulation has no use for it."""


class WebSeed(Table):
    """A content server that has the file (BEP 19)."""

    origin: str
    """The workload that it is: an `origin`."""
    file: Natural = 0
    """The number of the file there, from 0, the most popular first."""


WebSeedOrName = Annotated[WebSeed, shorthand("origin", WebSeed | str)]


class Swarm(Table):
    """A torrent and its peers."""

    kind: Literal["swarm"] = "swarm"
    size: PositiveSize
    """Size of the file."""
    piece: PositiveSize = Size("256 KiB")
    """Size of a piece."""
    block: PositiveSize = Size("16 KiB")
    """Size of a block, what one request asks for."""
    tracker: Annotated[Tracker, shorthand("host", Tracker | str)] = Tracker()
    """The tracker, or only its host."""
    populations: dict[Name, Population] = Field(min_length=1)
    """The peers."""
    web_seeds: list[WebSeedOrName] = Field(default_factory=list[WebSeed])
    """Content servers of which leechers fetch the file, too, if their clients know web seeds: the
    names of origins, or tables."""
    stop_after: MaybeCount = None
    """The run ends at this completion; "none" to wait for all."""

    @property
    def reads_disks(self) -> bool:
        """Whether seeds read from disks, which are measured as those of origins."""
        return any(population.storage is not None for population in self.populations.values())
