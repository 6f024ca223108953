"""A client: one program, or one session of one, that plays a peer of a swarm."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from flashcrowd.client_api.client import Client as Interface
from flashcrowd.clients.host_sandbox import HostSandbox
from flashcrowd.clients.settings import Settings, Unmet, Upload
from flashcrowd.clients.torrent import Torrent

HUNG_S = 30.0
"""A client that has not answered for this long hangs."""
STOP_S = 10.0
"""A client that leaves waits this long at most until the tracker knows."""


class ClientFailed(Exception):
    """A client crashed, hangs, or refused an order.

    The message names the program, the host and the reason, and ends with the last lines that the
    program wrote.
    """


@dataclass(frozen=True)
class Found:
    """A program of this machine.

    Attributes:
        name: as a study names it.
        version: as the program says it.
        path: where it is.
    """

    name: str
    version: str
    path: str


@dataclass(frozen=True)
class Progress:
    """The state that a client reports.

    Attributes:
        at: when, by `time.monotonic`.
        down: payload of blocks received, useful or not, in bytes.
        up: payload of blocks sent, in bytes.
        wasted: those received that were there already or were thrown away, in bytes; None where
            the program does not tell.
        pieces: whole pieces.
        down_rate: bytes per second, as the program measures it.
        up_rate: bytes per second, as the program measures it.
        neighbours: connected peers.
        interested: neighbours in which the client is interested; None where unknown.
        unchoking: neighbours that do not choke it; None where unknown.
    """

    at: float
    down: int = 0
    up: int = 0
    wasted: int | None = None
    pieces: int = 0
    down_rate: int = 0
    up_rate: int = 0
    neighbours: int = 0
    interested: int | None = None
    unchoking: int | None = None


@dataclass(frozen=True)
class Unchoke:
    """An unchoke that ended, as a client tells it. Instants are those of `time.monotonic`.

    Attributes:
        remote: where the neighbour is: its address, perhaps with a port.
        started: when it began.
        at: when it ended.
        idle: seconds of it in which nothing that the neighbour had asked for waited.
        bytes: payload of blocks sent meanwhile.
        blocks: whole blocks sent meanwhile.
        seeding: whether the client had the whole file at the end.
        cause: why it ended, as in the table `unchokes`.
    """

    FIELDS: ClassVar = ("remote", "started", "at", "idle", "bytes", "blocks", "seeding", "cause")

    remote: str
    started: float
    at: float
    idle: float
    bytes: int
    blocks: int
    seeding: bool
    cause: str


@dataclass
class Job:
    """The job of a client.

    Attributes:
        place: where it runs.
        torrent: what it shares.
        settings: what it is to do.
        seed: whether it brings the file.
        folder: its own folder; its creator removes it.
        port: where it listens for peers.
        have: whether to report the completion of every piece.
        draws: seed of the client's random numbers, where it takes one.
        unmet: what the program does not offer; filled by the client.
        control: the upload controller that the program brings along and is to use; empty for none.
        reflectors: where there are nodes that such a controller can ping.
        is_known: whether the tracker still knows the peer; always no where that cannot be asked.
    """

    place: HostSandbox
    torrent: Torrent
    settings: Settings
    seed: bool
    folder: Path
    port: int = 6881
    have: bool = False
    draws: int = 0
    unmet: list[Unmet] = field(default_factory=list)
    control: str = ""
    reflectors: tuple[HostSandbox, ...] = ()
    is_known: Callable[[], bool] = field(default=lambda: False, compare=False)

    @property
    def content(self) -> Path:
        """Where the client keeps the file."""
        return self.folder / "data" / self.torrent.file_name


def bitfield(there: Iterable[bool]) -> int:
    """Pieces as a bitfield (BEP 3) read as a number: the first piece is the highest bit."""
    bits = "".join("01"[it] for it in there)
    return int(bits.ljust(-(-len(bits) // 8) * 8, "0") or "0", 2)


class Client(ABC):
    """A client in its life: prepared, ready, joined, complete, left, closed.

    After `leave`, `is_closed` is asked again and again until it is. Nothing here blocks for longer
    than an answer of the program takes. All methods are called from
    the thread that made the client: programs die with that thread.
    """

    program: str
    pid: int | None = None
    """Number of its process; None for a client that is in this one."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.progress = Progress(time.monotonic())
        self.completed_at: float | None = None
        """When it had the whole file, by `time.monotonic`; None before, and for seeds."""
        self.transport_timeouts = 0
        """Retransmission timeouts of transports of its own: those of uTP, where it tells."""
        self.have: list[tuple[int, float]] = []
        """Pieces in the order of their completion, with the time, where the program tells."""
        self.unchokes: list[Unchoke] = []
        """Unchokes that ended, where the program tells."""
        self.send_gaps: dict[int, int] = {}
        """At the end: a histogram of the gaps between sends of blocks on one connection
        (milliseconds, count), where the program reports it.
        """

    @abstractmethod
    def is_ready(self) -> bool:
        """Whether it is ready to join.

        Raises:
            ClientFailed: it never will be.
        """

    @abstractmethod
    def join(self) -> None:
        """It gets the torrent and announces itself: the peer comes.

        Raises:
            ClientFailed: it refused.
        """

    @abstractmethod
    def look(self) -> None:
        """Bring `progress`, `completed_at` and `have` up to date, or have the program do so later.

        Raises:
            ClientFailed: it crashed or hangs.
        """

    @abstractmethod
    def has(self) -> int | None:
        """The pieces that it has, as it said last, see `bitfield`; None if it has not said.

        May be called once a second.
        """

    @abstractmethod
    def limit(self, upload: Upload) -> None:
        """Its upload limit changes.

        Raises:
            ClientFailed: it refused.
        """

    @abstractmethod
    def leave(self, *, told: bool = True) -> None:
        """It begins to close.

        Args:
            told: whether it waits until the tracker knows; the tracker may be unreachable by now.
        """

    @abstractmethod
    def is_closed(self) -> bool:
        """Whether it is gone: its `progress` is final, its files will not change any more."""

    @abstractmethod
    def kill(self) -> None:
        """It goes at once, without a word. May be called at any time, also twice."""

    def interface(self) -> Interface:
        """The interface for `flashcrowd autolimit`; of the programs of `controller.CONTROLLED`."""
        raise NotImplementedError(f"autolimit does not know {self.program}")

    def last_lines(self) -> list[str]:
        """The last that the program wrote."""
        return []

    def failure(self, reason: str) -> ClientFailed:
        """An error about this client."""
        lines = "".join(f"\n  {line}" for line in self.last_lines())
        return ClientFailed(f"{self.program} on {self.job.place.name}: {reason}{lines}")
