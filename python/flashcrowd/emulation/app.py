"""All workloads of one kind in an emulated run, as the simulation has them in one place."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import ClassVar, Generic, Protocol, TypeVar, cast

from flashcrowd import _core
from flashcrowd._core import Plan
from flashcrowd.base.rows import Columns, Row, Rows, of_columns
from flashcrowd.emulation.hosts import Hosts
from flashcrowd.emulation.messages import Standing
from flashcrowd.emulation.timetable import Timetable
from flashcrowd.plan import parts
from flashcrowd.plan.parts import W
from flashcrowd.plan.place import study_place
from flashcrowd.plan.types import CallWorkload, Change, PingWorkload

FIRST_PORT = 10_000
"""The first port that workloads take, one after another."""


@dataclass(frozen=True)
class Context:
    """The run that applications are made for.

    Attributes:
        plan: the plan.
        seed: the run's.
        hosts: the hosts of the lab.
        folder: an empty folder for what programs write.
        ended: to be called when something has ended, so that the run may be over.
        ports: ports that no workload has yet.
    """

    plan: Plan = field(repr=False)
    seed: int
    hosts: Hosts
    folder: Path
    ended: Callable[[], None]
    ports: Iterator[int] = field(default_factory=lambda: count(FIRST_PORT))

    @property
    def own(self) -> frozenset[int] | None:
        """The hosts that are played here, where others are played elsewhere."""
        every = len(self.hosts.own) == len(self.hosts.places)
        return None if every else self.hosts.own

    def workloads(self, table: type[W]) -> Iterator[tuple[int, W]]:
        """Those of a kind that are played here, with their numbers in the plan."""
        for index, spec in parts.numbered(self.plan, table):
            # Both ends of all but pings and swarms are on one node; a ping is its asking host's.
            if "from" not in spec or spec["from"] in self.hosts.own:
                yield index, spec


class App(ABC):
    """All workloads of one kind: their programs, and what these report.

    Args:
        context: what it is made for.

    Attributes:
        kind: the kind, as plans have it.
        failure: why the run cannot go on; empty while it can.
    """

    kind: ClassVar[str]
    failure = ""

    def __init__(self, context: Context) -> None:  # noqa: B027, each has its own
        pass

    @classmethod
    def refusals(cls, plan: Plan, index: int) -> Iterable[str]:
        """Why no program here can play a workload of this kind, with what would make it possible.

        Args:
            plan: the plan.
            index: number of the workload in it.
        """
        del plan, index
        return ()

    def prepare(self) -> None:  # noqa: B027, optional
        """Start what takes a while, before the network starts.

        Raises:
            ClientFailed: a program cannot be started.
            Unable: a content server cannot begin.
        """

    @abstractmethod
    def open(self, table: Timetable) -> None:
        """Make every socket, and write down what will happen.

        Raises:
            OSError: what the kernel refused.
        """

    @abstractmethod
    def change(self, change: Change, table: Timetable) -> None:
        """An entry of the timeline, if it is about a workload of this kind.

        Raises:
            ClientFailed: a program refused.
        """

    @property
    def is_finite(self) -> bool:
        """Whether something can end."""
        return False

    @property
    def is_done(self) -> bool:
        """Whether everything has ended that can."""
        return True

    def stalled(self, now_s: float) -> str | None:
        """Why a workload gets no further, if one does not."""
        del now_s
        return None

    @property
    def stopped(self) -> str | None:
        """Workloads that the timeline stopped before they were complete."""
        return None

    def progress(self, now_s: float) -> float:
        """How far it is, 0 to 1, as far as known."""
        del now_s
        return 1.0

    def unfinished(self) -> Iterable[str]:
        """A line for each thing that is left to do."""
        return ()

    def undelivered(self, now_s: float, outcome: str) -> Iterable[str]:
        """A line for each workload that lost a connection too early, or of which nothing came.

        Args:
            now_s: when the run ended.
            outcome: how, as far as is known.
        """
        del now_s, outcome
        return ()

    def violations(self) -> Iterable[str]:
        """Why what programs did is no measurement of the plan, in words; nothing if it is."""
        return ()

    @property
    def payload_bytes(self) -> int:
        """Payload bytes that reached those who wanted them."""
        return 0

    @property
    def kernels(self) -> Iterable[int]:
        """The hosts whose kernels say what was sent again."""
        return ()

    def retransmits(self, counted: frozenset[int]) -> int:
        """Packets sent again of which the kernels of these hosts do not say."""
        del counted
        return 0

    def standing(self, before: Standing) -> Standing:
        """What other nodes have to know of it, added to what they have to know of others."""
        return before

    def wanted_elsewhere(self, missing: Mapping[str, bool]) -> None:  # noqa: B027, optional
        """In which swarms a peer of another node lacks pieces."""

    @property
    def ports(self) -> Mapping[int, tuple[str, int]]:
        """The transfer and the number of the flow at each port of transfers."""
        return {}

    @property
    def arrivals(self) -> list[Row]:
        """Which peers came, and when, with their numbers here."""
        return []

    @property
    def echoes(self) -> Mapping[int, list[tuple[float, float | None]]]:
        """Of each echo request when it was sent, and how long its answer took, by workload."""
        return {}

    @abstractmethod
    def tables(self, now_s: float) -> Rows:
        """Rows of its tables, at the end of a run."""

    def cut_off(self, now_s: float) -> None:  # noqa: B027, optional
        """The run is over, and the network is about to end."""

    def finish(self) -> None:  # noqa: B027, optional
        """The network has ended: all programs leave, and downloads are verified.

        Raises:
            ClientFailed: a file is not what it should be.
        """

    def close(self) -> None:  # noqa: B027, optional
        """End every program that is left."""


class Player(Protocol):
    """The player of one workload."""

    def open(self, table: Timetable) -> None:
        """Make its sockets."""

    def start(self, table: Timetable) -> None:
        """Write down what it will do."""


class Rules(Protocol):
    """The rules of the workloads of a kind, as the simulation has them."""

    def undelivered(self, now_s: float) -> list[str]:
        """A line for each of which something did not come."""
        ...

    def tables(self) -> Columns:
        """The tables of its kind, as columns."""
        ...


R = TypeVar("R", bound=Rules)


class Ruled(App, Generic[R]):
    """Workloads of which the rules say which rows come out, and what was not delivered."""

    def __init__(self, rules: R, players: Mapping[int, Player]) -> None:
        self._rules: R = rules
        self._players = players

    def open(self, table: Timetable) -> None:
        """Make the sockets of each workload, and write down what it will do."""
        for player in self._players.values():
            player.open(table)
            player.start(table)

    def undelivered(self, now_s: float, outcome: str) -> list[str]:
        """A line for each workload, or direction of one, of which nothing came."""
        del outcome
        return self._rules.undelivered(now_s)

    def tables(self, now_s: float) -> Rows:
        """The table of its kind."""
        del now_s
        return of_columns(self._rules.tables())


D = TypeVar("D", _core.CallRules, _core.PingRules)


class Datagrams(Ruled[D]):
    """Workloads that send datagrams when their rules say so.

    Attributes:
        least_bytes: the shortest packet that says what it is.
    """

    least_bytes: ClassVar[int]

    @classmethod
    def refusals(cls, plan: Plan, index: int) -> Iterator[str]:
        """Packets that are too short."""
        spec = cast("CallWorkload | PingWorkload", plan.workloads[index])
        size, least = spec["size_bytes"], cls.least_bytes
        if size < least:
            what = f"a packet of a {cls.kind} has at least {least} B; make it larger"
            yield f"{study_place('workloads', spec)}: size {size} B; {what}"

    def change(self, change: Change, table: Timetable) -> None:
        """A workload that is stopped sends no more."""
        del table
        if change["kind"] == "stop":
            self._rules.stop(change["workload"])


def merge(into: Rows, more: Rows) -> None:
    """Add rows to those of the same tables."""
    for name, found in more.items():
        into.setdefault(name, []).extend(found)
