"""The course of a run: programs of a plan's workloads, started, changed and stopped in time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from flashcrowd import _core
from flashcrowd._core import Plan
from flashcrowd.base.rows import Row, Rows
from flashcrowd.clients import ClientFailed, kernel
from flashcrowd.content_server import Unable
from flashcrowd.emulation.app import App, Context, merge
from flashcrowd.emulation.calls import Calls
from flashcrowd.emulation.downloads import Downloads
from flashcrowd.emulation.hosts import Hosts
from flashcrowd.emulation.messages import Standing
from flashcrowd.emulation.node_assignment import Conductor
from flashcrowd.emulation.origins import Origins
from flashcrowd.emulation.pings import Pings
from flashcrowd.emulation.swarms import Swarms
from flashcrowd.emulation.timetable import Timetable
from flashcrowd.emulation.transfers import Transfers
from flashcrowd.emulation.webs import Webs
from flashcrowd.plan.types import Change

_TURN_S = 0.05
_EMULATOR = "the emulator ended by itself"

# In the order of the simulation, which is that of their messages.
APPS: tuple[type[App], ...] = (Swarms, Transfers, Pings, Webs, Calls, Origins, Downloads)
"""The kinds of workloads that programs play."""


class Stage:
    """The programs of one run, and what they report.

    Attributes:
        retransmits: segments that were sent again, known when the run is over.
    """

    def __init__(
        self,
        plan: Plan,
        seed: int,
        hosts: Hosts,
        folder: Path,
    ) -> None:
        self._plan = plan
        self._hosts = hosts
        self._horizon_s = plan.stop["horizon_ns"] / 1e9
        self._over = False
        self._failure = ""
        self.retransmits = 0
        context = Context(plan, seed, hosts, folder, self._something_ended)
        self._apps = tuple(app(context) for app in APPS)

    @property
    def failure(self) -> str:
        """Why a program ended the run, in its words; empty while none has."""
        return self._failure or next((app.failure for app in self._apps if app.failure), "")

    def prepare(self) -> None:
        """Start the programs that take a while until they are ready."""
        try:
            for app in self._apps:
                app.prepare()
        except (ClientFailed, Unable) as error:
            self._failure = str(error)

    def open(self, table: Timetable) -> None:
        """Make every socket, and write down what will happen.

        Raises:
            OSError: what the kernel refused.
        """
        # Where a program could not be prepared, the run has failed, and nothing starts.
        if self.failure:
            return
        for change in self._plan.timeline:
            table.at(change["at_ns"] / 1e9, lambda change=change: self._change(change, table))
        for app in self._apps:
            app.open(table)

    def play(
        self, table: Timetable, tell: Callable[[float], None], failed: Callable[[], bool]
    ) -> tuple[str, str]:
        """Let the run happen; how it ended, and why."""
        while True:
            table.turn(_TURN_S)
            now = table.now()
            if failed():
                self._failure = _EMULATOR
            over, self._over = self._over, False
            if (end := _core.run_ending(self, now, self._horizon_s, ended=over)) is not None:
                return end
            tell(self._progress(now))

    def play_share(
        self, table: Timetable, conductor: Conductor, failed: Callable[[], bool]
    ) -> tuple[str, str]:
        """The same for a share of a run: who sees all shares says when it ends, how and why.

        Raises:
            OSError: nothing was heard from there.
        """
        while True:
            table.turn(_TURN_S)
            if failed() and not self.failure:
                self._failure = _EMULATOR
            for app in self._apps:
                app.wanted_elsewhere(conductor.missing)
            end = conductor.end
            if end is not None and table.now() >= end.at_s:
                return end.outcome, end.reason
            conductor.tell(self.standing(table.now()))

    def standing(self, now_s: float) -> Standing:
        """How far it is, as a share of a run."""
        found = Standing(t_s=now_s, failure=self.failure, part=self._progress(now_s))
        for app in self._apps:
            found = app.standing(found)
        return found

    def ports(self) -> dict[int, tuple[str, int]]:
        """The transfer and the number of the flow at each port of transfers."""
        return {port: flow for app in self._apps for port, flow in app.ports.items()}

    def echoes(self) -> dict[int, list[tuple[float, float | None]]]:
        """Of each echo request when it was sent, and how long its answer took, by workload."""
        return {index: found for app in self._apps for index, found in app.echoes.items()}

    def _something_ended(self) -> None:
        self._over = True

    def failed(self) -> str | None:
        """Why a program, or the emulator, ended the run."""
        return self.failure or None

    def stalled(self, now_s: float) -> str | None:
        """Why a workload gets no further, if one does not."""
        return next(filter(None, (app.stalled(now_s) for app in self._apps)), None)

    def is_finite(self) -> bool:
        """Whether something can finish."""
        return any(app.is_finite for app in self._apps)

    def is_done(self) -> bool:
        """Whether all that can finish has finished."""
        return all(app.is_done for app in self._apps)

    def stopped(self) -> str | None:
        """What the timeline stopped before it was complete."""
        return next(filter(None, (app.stopped for app in self._apps)), None)

    def unfinished(self) -> list[str]:
        """A line for each thing that is left to do."""
        return [line for app in self._apps for line in app.unfinished()]

    def _progress(self, now_s: float) -> float:
        time = now_s / self._horizon_s
        if self.is_finite():
            time = max(time, min(app.progress(now_s) for app in self._apps))
        return max(0.0, min(1.0, time))

    def _change(self, change: Change, table: Timetable) -> None:
        """The effect of a timeline entry on programs; the network knows the others."""
        try:
            for app in self._apps:
                app.change(change, table)
        except ClientFailed as error:
            self._failure = str(error)

    def tables(self, now_s: float) -> Rows:
        """Rows of the tables about workloads, at the end of a run."""
        found: Rows = {"series": [], "programs": []}
        for app in self._apps:
            merge(found, app.tables(now_s))
        return found

    def undelivered(self, now_s: float, outcome: str) -> Iterator[str]:
        """A line for each workload that lost a connection too early, or of which nothing came.

        Args:
            now_s: when the run ended.
            outcome: how, as far as is known.
        """
        for app in self._apps:
            yield from app.undelivered(now_s, outcome)

    def violations(self) -> list[str]:
        """Why what programs did is no measurement of the plan, in words; nothing if it is."""
        return [line for app in self._apps for line in app.violations()]

    def arrivals(self) -> list[Row]:
        """Which peers of swarms came, and when, with their numbers here."""
        return [row for app in self._apps for row in app.arrivals]

    @property
    def payload_bytes(self) -> int:
        """Bytes that reached applications: of transfers, pages, downloads, and blocks."""
        return sum(app.payload_bytes for app in self._apps)

    def cut_off(self, now_s: float) -> None:
        """The run is over, and the network is about to end: the kernels' counts are final."""
        counted = frozenset(host for app in self._apps for host in app.kernels)
        self.retransmits = sum(kernel.retransmits(self._hosts.places[host]) for host in counted)
        self.retransmits += sum(app.retransmits(counted) for app in self._apps)
        for app in self._apps:
            app.cut_off(now_s)

    def finish(self) -> None:
        """The network has ended: all programs leave, and downloads are verified."""
        try:
            for app in self._apps:
                if not self.failure:
                    app.finish()
        except ClientFailed as error:
            self._failure = str(error)

    def close(self) -> None:
        """End every program that is left."""
        for app in self._apps:
            app.close()
