"""A flow of a transfer: what every program that plays one is asked, and what is told of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from flashcrowd.clients.settings import Unmet
from flashcrowd.emulation.hosts import Hosts
from flashcrowd.emulation.round_trips import RoundTrips
from flashcrowd.emulation.timetable import Timetable
from flashcrowd.undelivered import is_due

FIRST_PORT = 10_000
MOST_FLOWS = 50_000


@dataclass(frozen=True)
class Sender:
    """The sending end of a connection; None for what its transport does not tell.

    Attributes:
        srtt_s: smoothed round-trip time in seconds; None before the first sample, too.
        min_rtt_s: least round-trip time.
        cwnd_bytes: congestion window.
        segments: packets sent.
        retransmits: packets sent again.
        timeouts: retransmission timeouts.
        own_delay_s: the latest one-way delay above the least, as the transport itself measures it.
    """

    srtt_s: float | None = None
    min_rtt_s: float | None = None
    cwnd_bytes: int | None = None
    segments: int = 0
    retransmits: int = 0
    timeouts: int | None = None
    own_delay_s: float | None = None


@dataclass
class Counts:
    """What a flow has done by some instant."""

    received: int = 0
    segments: int = 0
    retransmits: int = 0
    timeouts: int = 0

    def less(self, other: Counts) -> Counts:
        """What it has done since another instant."""
        return Counts(
            self.received - other.received,
            self.segments - other.segments,
            self.retransmits - other.retransmits,
            self.timeouts - other.timeouts,
        )


@dataclass(frozen=True)
class FlowJob:
    """What a flow is made for.

    Attributes:
        spec: the transfer, as the plan has it.
        plan: the plan.
        number: number of the flow in the transfer.
        port: the port at which its receiving end listens; no other flow of the run has it.
        start_s: when it starts, in seconds of the run.
        seed: the run's.
        window: the part of the run of which round-trip times are told.
        ended: to be called when it has ended.
    """

    spec: Mapping[str, Any]
    plan: Mapping[str, Any] = field(repr=False)
    number: int
    port: int
    start_s: float
    seed: int
    window: tuple[float, float]
    ended: Callable[[], None]


class Flow(ABC):
    """One flow of one transfer, from its host to its host.

    Attributes:
        spec: the transfer, as the plan has it.
        number: its number in the transfer.
        received: payload bytes that the receiving application has read.
        started_s: when the connection was opened.
        ended_s: when the last byte was there, the connection failed, or the flow was stopped.
        stopped: whether it was stopped, so that its connection had not ended by itself.
        info: what was last said of the sending end.
        rate_bps: the application's limit.
        failure: why the run cannot go on, in the program's words; empty while it can.
        unmet: what the plan asks of the transport and the program does in another way.
    """

    def __init__(self, job: FlowJob) -> None:
        self.job = job
        self.spec = job.spec
        self.number = job.number
        self.received = 0
        self.started_s: float | None = None
        self.ended_s: float | None = None
        self.stopped = False
        self.info: Sender | None = None
        self.rate_bps: int | None = job.spec["rate_bps"]
        self.failure = ""
        self.unmet: list[Unmet] = []
        self._round_trips = RoundTrips(*job.window)

    @property
    def is_finite(self) -> bool:
        """Whether it can end by itself, or by the clock."""
        return self.spec["size_bytes"] is not None or self.spec["stop_ns"] is not None

    @property
    def is_whole(self) -> bool:
        """Whether it has a size, and all of it has arrived."""
        return self.received == self.spec["size_bytes"]

    @property
    def is_lost(self) -> bool:
        """Whether its connection ended it, and not its last byte or somebody who stopped it."""
        return self.ended_s is not None and not self.stopped and not self.is_whole

    def is_silent(self, now_s: float) -> bool:
        """Whether nothing of it has arrived, for so long that it should have."""
        return not self.received and is_due(self.started_s, self.ended_s or now_s)

    @property
    def duration_s(self) -> float | None:
        """From start to last byte; None without a size, or if not all arrived."""
        if self.started_s is None or self.ended_s is None or not self.is_whole:
            return None
        return self.ended_s - self.started_s

    @property
    def name(self) -> str:
        """How series call it."""
        return f"{self.spec['name']}/{self.number}"

    def prepare(self, hosts: Hosts, folder: Path) -> None:
        """Do before the network starts what takes a while.

        Args:
            hosts: the hosts of the lab.
            folder: for what the program writes; it is not there yet.

        Raises:
            ClientFailed: the program cannot be started.
        """
        del hosts, folder

    @abstractmethod
    def listen(self, hosts: Hosts, table: Timetable) -> None:
        """Make the receiving end ready, shortly before the run begins.

        Raises:
            OSError: what the kernel refused.
        """

    @abstractmethod
    def start(self, table: Timetable) -> None:
        """Open the connection, and send from then on."""

    def stop(self, table: Timetable) -> None:
        """End it, finished or not."""
        self.sample(table, fresh=True)
        self.stopped |= self.ended_s is None
        self._end(table)

    @abstractmethod
    def limit(self, rate_bps: int | None, table: Timetable) -> None:
        """Change the application's limit."""

    @abstractmethod
    def sample(self, table: Timetable, *, fresh: bool = False) -> None:
        """Ask how it stands.

        Args:
            table: the clock of the run.
            fresh: whether what was told a moment ago is too old.
        """

    def close(self) -> None:
        """The run is over: end what is left of the program."""
        self._close_connection()

    @abstractmethod
    def _close_connection(self) -> None:
        """The connection ends at once, if there is one."""

    def _end(self, table: Timetable, at_s: float | None = None) -> None:
        if self.ended_s is not None:
            return
        self.ended_s = table.now() if at_s is None else at_s
        self._round_trips.hold(self.ended_s)
        self._close_connection()
        self.job.ended()

    def counts(self) -> Counts:
        """What it has done so far, as was last said."""
        info = self.info
        if info is None:
            return Counts(self.received)
        return Counts(self.received, info.segments, info.retransmits, info.timeouts or 0)

    def round_trips(self, now_s: float) -> tuple[float, float, float] | None:
        """Mean, least and 95th percentile of its round-trip time, over time."""
        if self.ended_s is None:
            self._round_trips.hold(now_s)
        return self._round_trips.summary()
