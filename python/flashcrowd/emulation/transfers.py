"""The flows of all transfers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from flashcrowd import _core
from flashcrowd._core import Plan
from flashcrowd.base.rows import Rows, of_columns
from flashcrowd.emulation import players
from flashcrowd.emulation.app import App, Context
from flashcrowd.emulation.flow import Flow, FlowJob
from flashcrowd.emulation.messages import Standing
from flashcrowd.emulation.players import player
from flashcrowd.emulation.timetable import Timetable
from flashcrowd.plan.types import Change, TransferWorkload

_SAMPLE_S = 0.01
_SAMPLE_FLOW_S = 0.0002
"""The period at which each flow's sender is asked, longer if there are many."""


class Transfers(App):
    """The flows of all transfers, each played by the program of its transfer."""

    kind = "transfer"

    @classmethod
    def refusals(cls, plan: Plan, index: int) -> Iterator[str]:
        """Why the program of a transfer cannot play it."""
        return players.refusals(plan, index)

    def __init__(self, context: Context) -> None:
        self._context = context
        self._rules = _core.TransferRules(context.plan, context.seed, context.own)
        self._flows: dict[int, list[Flow]] = {
            index: [
                player(spec).flow(
                    FlowJob(
                        spec=spec,
                        plan=context.plan,
                        number=number,
                        port=next(context.ports),
                        start_s=start_s,
                        seed=context.seed,
                        place=place,
                        rules=self._rules,
                        ended=context.ended,
                    )
                )
                for place, number, start_s in self._rules.flows(index)
            ]
            for index, spec in context.workloads(TransferWorkload)
        }
        self._all = [flow for flows in self._flows.values() for flow in flows]

    @property
    def ports(self) -> dict[int, tuple[str, int]]:
        """The transfer and the number of the flow at each port."""
        return {flow.job.port: (flow.spec["name"], flow.number) for flow in self._all}

    def standing(self, before: Standing) -> Standing:
        """The flows that can end, those that have, and those that have not, in words."""
        finite, ended = self._rules.counts()
        return replace(before, finite=finite, ended=ended, unfinished=self.unfinished())

    def prepare(self) -> None:
        """Start the programs."""
        for flow in self._all:
            flow.prepare(self._context.hosts, self._context.folder / f"flow-{flow.job.port}")

    def open(self, table: Timetable) -> None:
        """Have every flow listen, and start in time."""
        for flow in self._all:
            flow.listen(self._context.hosts, table)
            table.at(flow.job.start_s, lambda flow=flow: flow.start(table))
            if flow.spec["stop_ns"] is not None:
                table.at(flow.spec["stop_ns"] / 1e9, lambda flow=flow: flow.stop(table))
        if self._all:
            every_s = max(_SAMPLE_S, _SAMPLE_FLOW_S * len(self._all))
            table.every(every_s, lambda: self._look(table))
        table.whenever_due(self._rules.due_s, lambda now_s: self._take(now_s, table))

    def change(self, change: Change, table: Timetable) -> None:
        """Stop the flows of a transfer, or limit them."""
        if "workload" not in change:
            return
        for flow in self._flows.get(change["workload"], ()):
            if change["kind"] == "stop":
                flow.stop(table)
            elif change["kind"] == "transfer-rate":
                flow.limit(change["rate_bps"], table)

    def _look(self, table: Timetable) -> None:
        for flow in self._all:
            flow.sample(table)
            self.failure = self.failure or flow.failure

    def _take(self, now_s: float, table: Timetable) -> None:
        for flow in self._all if self._rules.counts_due(now_s) else ():
            flow.sample(table, fresh=True)
        self._rules.look(now_s)

    @property
    def is_finite(self) -> bool:
        """Whether a flow can end."""
        return self._rules.counts()[0] > 0

    @property
    def is_done(self) -> bool:
        """Whether all flows have ended that can."""
        finite, ended = self._rules.counts()
        return finite == ended

    def progress(self, now_s: float) -> float:
        """How far the flow is that is furthest behind."""
        return self._rules.progress(max(now_s, 0.0))

    def unfinished(self) -> list[str]:
        """A line for each flow with a size that has not ended."""
        return self._rules.unfinished()

    def undelivered(self, now_s: float, outcome: str) -> list[str]:
        """Lines for each transfer whose flows lost their connection, or brought nothing."""
        del outcome
        return self._rules.undelivered(now_s)

    @property
    def payload_bytes(self) -> int:
        """Payload bytes that arrived."""
        return self._rules.payload_bytes()

    def retransmits(self, counted: frozenset[int]) -> int:
        """Of flows that no such kernel sends: a host's counts what all of its programs repeat."""
        return sum(
            flow.info.retransmits
            for flow in self._all
            if flow.info is not None
            and (flow.spec["from"] not in counted or "utp" in (flow.spec["transport"] or {}))
        )

    def tables(self, now_s: float) -> Rows:
        """The tables `transfers` and `series`, and of `programs` what they do in another way."""
        programs = [
            unmet.row(flow.spec["name"], "", flow.spec.get("program"))
            for flows in self._flows.values()
            for flow in flows[:1]
            for unmet in flow.unmet
        ]
        return {**of_columns(self._rules.tables(now_s)), "programs": programs}

    def close(self) -> None:
        """End what is left of the programs."""
        for flow in self._all:
            flow.close()
