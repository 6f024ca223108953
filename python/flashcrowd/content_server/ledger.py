"""What is written down of a content server and its clients, and the tables that come of it."""

from __future__ import annotations

import heapq
import json
import math
from typing import Literal

from flashcrowd import _core
from flashcrowd.base.rows import Row, Rows, of_columns
from flashcrowd.content_server.snapshot import PaceReport, Snapshot, pace, snapshot
from flashcrowd.plan.parts import workload
from flashcrowd.plan.types import OriginWorkload, Plan, Sampled

SERIES = ("origin-rate", "disk-rate", "disk-queue", "disk-waiting", "origin-clients")
"""Time series of a content server; see the table `series`."""
_BYTES: dict[Sampled, Literal["served_bytes", "read_bytes"]] = {
    "origin-rate": "served_bytes",
    "disk-rate": "read_bytes",
}
_LEVELS: dict[Sampled, Literal["queued_reads", "waiting"]] = {
    "disk-queue": "queued_reads",
    "disk-waiting": "waiting",
}


class Ledger:
    """What one server does, looked at when something of it is to be known.

    Args:
        server: the server.
        plan: the plan.
        index: number of the origin among the workloads.
        rules: what its clients do.
    """

    def __init__(
        self,
        server: _core.ContentServer,
        plan: Plan,
        index: int,
        rules: _core.OriginRules,
    ) -> None:
        self._server = server
        self._rules, self._place = rules, rules.place(index)
        self._origin = workload(plan, index, OriginWorkload)
        self._window_s = window_s(plan)
        self._edges: list[tuple[float, Snapshot]] = []
        self._series: list[Row] = []
        self._before = dict.fromkeys(_BYTES.values(), 0)
        self._looks: list[tuple[float, Sampled, float]] = [
            (it["every_ns"] / 1e9, it["what"], it["every_ns"] / 1e9)
            for it in plan["measures"]["series"]
            if it["what"] in SERIES
        ]
        heapq.heapify(self._looks)
        self._last: Snapshot | None = None

    @property
    def due_s(self) -> float:
        """When something is to be known of the server next; infinite if nothing is."""
        edges = self._window_s[len(self._edges) :]
        return min((*edges, *(look[0] for look in self._looks[:1])), default=math.inf)

    def look(self, now_s: float) -> None:
        """Take what is to be known at instants that have passed."""
        while len(self._edges) < 2 and now_s >= self._window_s[len(self._edges)]:
            self._edges.append((now_s, snapshot(self._server)))
        while self._looks and self._looks[0][0] <= now_s:
            at, what, every = heapq.heappop(self._looks)
            heapq.heappush(self._looks, (at + every, what, every))
            found = snapshot(self._server)
            if (key := _BYTES.get(what)) is not None:
                value = (found[key] - self._before[key]) * 8 / every
                self._before[key] = found[key]
            else:
                online = self._rules.online(self._place)
                value = found[_LEVELS[what]] if what in _LEVELS else online
            name = self._origin["name"]
            self._series.append({"what": what, "source": name, "t_s": at, "value": float(value)})

    def close(self, now_s: float) -> None:
        """The run is over: what the server does from here on is no part of it."""
        if self._last is None:
            self.look(now_s)
            self._last = snapshot(self._server)
            while len(self._edges) < 2:
                self._edges.append((now_s, self._last))

    @property
    def disk_errors(self) -> int:
        """Reads of files that failed."""
        return (self._last or snapshot(self._server))["disk_errors"]

    def pace(self) -> PaceReport:
        """How well its disk kept its pace."""
        return pace(self._last or snapshot(self._server))

    def tables(self) -> Rows:
        """Rows of the tables `downloads`, `origins` and `series`, after `close`."""
        before, after = ((at_s, json.dumps(found)) for at_s, found in self._edges)
        found = self._rules.tables(self._place, before, after)
        return {**of_columns(found), "series": self._series}


def window_s(plan: Plan) -> tuple[float, float]:
    """From when on and until when downloads and the server's counts count."""
    for window in plan["measures"]["windows"]:
        if window["table"] == "origins":
            to_ns = window["to_ns"]
            return window["from_ns"] / 1e9, math.inf if to_ns is None else to_ns / 1e9
    return 0.0, math.inf
