"""The clients of a content server on the loopback, all on one thread, and what came of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from flashcrowd import _core
from flashcrowd.content_server.chunks import Wrong
from flashcrowd.content_server.ledger import Ledger
from flashcrowd.content_server.snapshot import PaceReport
from flashcrowd.content_server.visit import Visit
from flashcrowd.content_server.visitor import Visitor
from flashcrowd.http.multipart import Malformed

TICK_S = 0.004
"""Lines are read so often: T3 carries 15 packets in it."""
READ = 1 << 18
"""Bytes that are read of a socket at once, at most."""


class LinesPace(PaceReport):
    """How well the disk and the lines were played.

    Attributes:
        lines_lost: the part of what they carry for which lines were read too late.
    """

    lines_lost: float


class Crowd:
    """All clients of a run.

    Args:
        server: where they come to.
        visits: who comes.
        contents: of each file; it is at the path of its number.
        ledger: what is written down of the server.

    Attributes:
        visitors: those who came.
        failures: what servers and clients did wrong, in words.
        end_s: when the last one went.
    """

    def __init__(
        self,
        server: _core.ContentServer,
        visits: Sequence[Visit],
        contents: Sequence[bytes],
        ledger: Ledger,
    ) -> None:
        self.visitors: list[Visitor] = []
        self.failures: list[str] = []
        self.end_s = 0.0
        host, _, port = server.address.rpartition(":")
        self._address = (host, int(port))
        self._visits = sorted(visits, key=lambda it: it.at_s)
        self._contents = contents
        self._ledger = ledger
        self._online = 0
        self._buffer = memoryview(bytearray(READ))

    def play(
        self, name: str, horizon_s: float, stall_s: float, tell: Callable[[float], None]
    ) -> tuple[str, str]:
        """Let all of them come and go; how it ended, and why, as in the simulation.

        Args:
            name: of the origin.
            horizon_s: when it ends at the latest.
            stall_s: it ends if nothing has reached anybody for so long.
            tell: called now and then with how far it is, 0 to 1.
        """
        begin = time.monotonic()
        coming = self._visits[::-1]
        here: list[Visitor] = []
        wanted = sum(len(self._contents[it.file]) for it in self._visits)
        had = moved = 0
        moved_s = 0.0
        while coming or here:
            now = time.monotonic() - begin
            self.end_s = now
            if had > moved or not here:
                moved, moved_s = had, now
            if now >= horizon_s or now - moved_s >= stall_s:
                for visitor in here:
                    visitor.close(now)
                self._ledger.close(now, self._online)
                if now >= horizon_s:
                    return "horizon", _core.origin_unfinished(
                        name, self._complete, len(self._visits)
                    )
                return "stalled", _core.origin_stalled(name, len(here), moved_s)
            self._ledger.look(now, self._online)
            while coming and coming[-1].at_s <= now:
                here.append(self._admit(coming.pop(), now))
                moved_s = now
            for visitor in here:
                before = visitor.answer.received
                if not self._turn(visitor, time.monotonic() - begin):
                    visitor.close(time.monotonic() - begin)
                had += visitor.answer.received - before
            here = [visitor for visitor in here if visitor.left_s is None]
            self._online = len(here)
            tell(had / max(wanted, 1))
            next_s = now + TICK_S
            if not here and coming:
                next_s = min(coming[-1].at_s, self._ledger.due_s)
            time.sleep(max(0.0, next_s - (time.monotonic() - begin)))
        self.end_s = time.monotonic() - begin
        self._ledger.close(self.end_s, self._online)
        return "completed", ""

    @property
    def _complete(self) -> int:
        return sum(it.answer.complete for it in self.visitors)

    def _admit(self, visit: Visit, now: float) -> Visitor:
        contents = self._contents[visit.file]
        visitor = Visitor(visit, self._address, f"/{visit.file}", contents, now)
        self.visitors.append(visitor)
        return visitor

    def _turn(self, visitor: Visitor, now: float) -> bool:
        leave = visitor.visit.leave_s
        if leave is not None and now >= leave:
            return False
        try:
            goes_on = visitor.turn(now, self._buffer)
        except (Wrong, Malformed) as error:
            self.failures.append(f"{visitor.visit.host_name}: {error}")
            return False
        if not goes_on and not visitor.answer.complete:
            visitor.broke_off = True
        return goes_on

    def pace(self) -> LinesPace:
        """How well the disk and the lines were played."""
        carried = sum(it.answer.received for it in self.visitors)
        lost = sum(it.lost for it in self.visitors)
        return {**self._ledger.pace(), "lines_lost": lost / max(carried, 1)}
