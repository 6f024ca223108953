"""A flow of a transfer: what each of its programs can do, and what it reports."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from flashcrowd import _core
from flashcrowd._core import Plan
from flashcrowd.clients.settings import Unmet
from flashcrowd.emulation.hosts import Hosts
from flashcrowd.emulation.timetable import Timetable
from flashcrowd.plan.types import TransferWorkload

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


@dataclass(frozen=True)
class FlowJob:
    """The job of a flow.

    Attributes:
        spec: the transfer, as the plan has it.
        plan: the plan.
        number: number of the flow in the transfer.
        port: the port at which its receiving end listens; no other flow of the run has it.
        start_s: when it starts, in seconds of the run.
        seed: the run's.
        place: its place among the flows of all transfers.
        rules: those of all flows of the run; they receive what it does.
        ended: to be called when it has ended.
    """

    spec: TransferWorkload
    plan: Plan = field(repr=False)
    number: int
    port: int
    start_s: float
    seed: int
    place: int
    rules: _core.TransferRules = field(repr=False)
    ended: Callable[[], None]


class Flow(ABC):
    """One flow of one transfer, from its host to its host.

    Attributes:
        spec: the transfer, as the plan has it.
        number: its number in the transfer.
        received: payload bytes that the receiving application has read.
        started_s: when the connection was opened.
        ended_s: when the last byte was there, the connection failed, or the flow was stopped.
        stopped: whether it was stopped before it had ended by itself.
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
        """Ask for its state.

        Args:
            table: the clock of the run.
            fresh: whether an answer from a moment ago is too old.
        """

    def close(self) -> None:
        """The run is over: end what is left of the program."""
        self._close_connection()

    @abstractmethod
    def _close_connection(self) -> None:
        """The connection ends at once, if there is one."""

    def _note_start(self, at_s: float) -> None:
        """It has started then."""
        self.started_s = at_s
        self.job.rules.start(at_s, self.job.place)

    def _note_received(self, count: int) -> None:
        """`count` bytes have arrived in all."""
        self.received = count
        self.job.rules.receive(self.job.place, count)

    def _note_sender(self, now_s: float, info: Sender) -> None:
        """The sending end has said how it is."""
        self.info = info
        self.job.rules.observe(now_s, self.job.place, **vars(info))

    def _end(self, table: Timetable, at_s: float | None = None) -> None:
        if self.ended_s is not None:
            return
        self.ended_s = table.now() if at_s is None else at_s
        self.job.rules.end(self.ended_s, self.job.place, self.stopped)
        self._close_connection()
        self.job.ended()
