"""All content servers, with their clients."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from flashcrowd import _core
from flashcrowd._core import Plan
from flashcrowd.base.rows import Rows
from flashcrowd.emulation.app import App, Context, merge
from flashcrowd.emulation.origin import PACES, Origin
from flashcrowd.emulation.promptness import Promptness
from flashcrowd.emulation.timetable import Timetable
from flashcrowd.plan.parts import workload
from flashcrowd.plan.place import study_place
from flashcrowd.plan.types import Change, OriginWorkload


class Origins(App):
    """All content servers of a run."""

    kind = "origin"

    @classmethod
    def refusals(cls, plan: Plan, index: int) -> Iterator[str]:
        """Why a content server cannot be played."""
        spec = workload(plan, index, OriginWorkload)
        if "utp" in (spec["transport"] or {}):
            where = study_place("workloads", spec)
            yield f"{where}: files go over the kernel's TCP; give it a TCP stack"

    def __init__(self, context: Context) -> None:
        self._context = context
        self._rules = _core.OriginRules(context.plan, context.seed)
        self._origins = {
            index: Origin(
                *(context.plan, index, next(context.ports), context.seed),
                self._rules,
                self._one_ended,
            )
            for index, _ in context.workloads(OriginWorkload)
        }
        self._promptness = Promptness()

    def prepare(self) -> None:
        """Make the files, and have the servers listen."""
        for index, origin in self._origins.items():
            origin.prepare(self._context.hosts, self._context.folder / str(index))

    def open(self, table: Timetable) -> None:
        """Schedule all arrivals."""
        for origin in self._origins.values():
            origin.start(table)
        if self._origins:
            self._promptness.start(table)

    def change(self, change: Change, table: Timetable) -> None:
        """A stopped server has no more arrivals."""
        if change["kind"] == "stop" and change["workload"] in self._origins:
            self._origins[change["workload"]].stop(table)

    def _one_ended(self) -> None:
        wrong = (origin.failure for origin in self._origins.values() if origin.failure)
        self.failure = self.failure or next(wrong, "")
        self._context.ended()

    @property
    def is_finite(self) -> bool:
        """Whether there is a content server."""
        return bool(self._origins)

    @property
    def is_done(self) -> bool:
        """Whether all clients have come and gone."""
        return self._rules.is_done()

    def stalled(self, now_s: float) -> str | None:
        """Why a server's clients get no further, if they do not."""
        return self._rules.stalled(now_s)

    def progress(self, now_s: float) -> float:
        """How much of what all clients want has come, 0 to 1."""
        del now_s
        return self._rules.progress()

    def unfinished(self) -> Iterable[str]:
        """A line for each server that is not done."""
        return self._rules.unfinished()

    def undelivered(self, now_s: float, outcome: str) -> Iterable[str]:
        """A line for each server whose clients lack something."""
        return self._rules.undelivered(now_s, outcome)

    def violations(self) -> Iterable[str]:
        """Why what servers did is no measurement of the plan."""
        late = [it for origin in self._origins.values() for it in origin.violations()]
        return [*late, *self._promptness.violations()]

    @property
    def payload_bytes(self) -> int:
        """Bytes of blocks that have reached clients."""
        return self._rules.payload_bytes()

    @property
    def kernels(self) -> set[int]:
        """The hosts of servers and of their clients."""
        return {host for origin in self._origins.values() for host in origin.hosts}

    def tables(self, now_s: float) -> Rows:
        """The tables `downloads`, `origins` and `series`, and how well servers kept their pace."""
        del now_s
        found: Rows = {}
        for origin in self._origins.values():
            merge(found, origin.rows())
        if self._origins:
            worst = self._promptness.worst()
            found[PACES] = [{**origin.pace(), **worst} for origin in self._origins.values()]
        return found

    def cut_off(self, now_s: float) -> None:
        """Count what the servers have done by now."""
        for origin in self._origins.values():
            origin.cut_off(now_s)

    def close(self) -> None:
        """End the servers, and what is left of connections."""
        for origin in self._origins.values():
            origin.close()
