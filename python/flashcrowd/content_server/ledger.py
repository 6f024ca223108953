"""What is written down of a content server and its clients, and the tables that come of it."""

from __future__ import annotations

from flashcrowd import _core
from flashcrowd.base.rows import Rows, of_columns
from flashcrowd.content_server.snapshot import PaceReport, Snapshot, pace, parsed, snapshot


class Ledger:
    """What one server does, looked at when something of it is to be known.

    Args:
        server: the server.
        index: number of the origin among the workloads.
        rules: what is to be known when.
    """

    def __init__(self, server: _core.ContentServer, index: int, rules: _core.OriginRules) -> None:
        self._server = server
        self._rules, self._place = rules, rules.place(index)
        self._last: Snapshot | None = None

    @property
    def due_s(self) -> float:
        """When something is to be known of the server next; infinite if nothing is."""
        return self._rules.due_s(self._place)

    def look(self, now_s: float) -> None:
        """Take what is to be known at instants that have passed."""
        if self.due_s <= now_s:
            self._rules.look(now_s, self._place, self._server.snapshot())

    def close(self, now_s: float) -> None:
        """The run is over: what the server does from here on is no part of it."""
        if self._last is None:
            said = self._server.snapshot()
            self._rules.close(now_s, self._place, said)
            self._last = parsed(said)

    @property
    def disk_errors(self) -> int:
        """Reads of files that failed."""
        return (self._last or snapshot(self._server))["disk_errors"]

    def pace(self) -> PaceReport:
        """How well its disk kept its pace."""
        return pace(self._last or snapshot(self._server))

    def tables(self) -> Rows:
        """Rows of the tables `downloads`, `origins` and `series`, after `close`."""
        return of_columns(self._rules.tables(self._place))
