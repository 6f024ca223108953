"""The clients of a content server on the loopback, all on one thread, and what came of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from flashcrowd import _core
from flashcrowd.content_server.answer import Piece
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
        rules: what happens to clients of content servers.
        place: of the server, in them.

    Attributes:
        visitors: those who came.
        end_s: when the last one went.
    """

    def __init__(
        self,
        server: _core.ContentServer,
        visits: Sequence[Visit],
        contents: Sequence[bytes],
        ledger: Ledger,
        rules: _core.OriginRules,
        place: int,
    ) -> None:
        self.visitors: list[Visitor] = []
        self.end_s = self._begin_s = 0.0
        host, _, port = server.address.rpartition(":")
        self._address = (host, int(port))
        self._visits = sorted(visits, key=lambda it: it.at_s)
        self._contents = contents
        self._failures: list[str] = []
        self._ledger = ledger
        self._rules, self._place = rules, place
        self._buffer = memoryview(bytearray(READ))

    def play(self, horizon_s: float, tell: Callable[[float], None]) -> tuple[str, str]:
        """Let all of them come and go; how it ended, and why, as in the simulation.

        Args:
            horizon_s: when it ends at the latest.
            tell: called now and then with how far it is, 0 to 1.
        """
        self._begin_s = time.monotonic()
        coming = self._visits[::-1]
        here: list[Visitor] = []
        end = None
        while end is None:
            now = self._now()
            self._ledger.look(now)
            while coming and coming[-1].at_s <= now:
                here.append(self._admit(coming.pop(), now))
            here = [visitor for visitor in here if self._turn(visitor)]
            tell(self._rules.progress())
            end = _core.run_ending(self, self._now(), horizon_s, ended=True)
            next_s = now + TICK_S
            if not here and coming:
                next_s = min(coming[-1].at_s, self._ledger.due_s, horizon_s)
            if end is None:
                time.sleep(max(0.0, next_s - self._now()))
        self.end_s = self._now()
        for visitor in here:
            visitor.close()
        self._ledger.close(self.end_s)
        return end

    def failed(self) -> str | None:
        """What servers and clients did wrong, in words."""
        return "; ".join(self._failures) or None

    def stalled(self, now_s: float) -> str | None:
        """Why the clients get no further, if they do not."""
        return self._rules.stalled(now_s)

    def is_finite(self) -> bool:
        """All clients come to an end."""
        return True

    def is_done(self) -> bool:
        """Whether all clients have come and gone."""
        return self._rules.is_done()

    def stopped(self) -> str | None:
        """No timeline stops a crowd."""
        return None

    def unfinished(self) -> list[str]:
        """A line if clients have not come to an end."""
        return self._rules.unfinished()

    def _admit(self, visit: Visit, now: float) -> Visitor:
        contents, number = self._contents[visit.file], visit.number
        self._rules.come(now, self._place, number)

        def read(pieces: list[Piece]) -> None:
            self._rules.receive(self._now(), self._place, number, pieces)

        visitor = Visitor(visit, self._address, f"/{visit.file}", contents, now, read)
        self.visitors.append(visitor)
        return visitor

    def _turn(self, visitor: Visitor) -> bool:
        """Let a client read; whether it stays."""
        visit = visitor.visit
        leaves = visit.leave_s is not None and self._now() >= visit.leave_s
        try:
            if not leaves and visitor.turn(self._now(), self._buffer):
                return True
        except (Wrong, Malformed) as error:
            self._failures.append(f"{visit.host_name}: {error}")
            leaves = True
        visitor.broke_off = not leaves and not visitor.answer.complete
        ends = self._rules.lose if visitor.broke_off else self._rules.leave
        ends(self._now(), self._place, visit.number)
        visitor.close()
        return False

    def _now(self) -> float:
        return time.monotonic() - self._begin_s

    def pace(self) -> LinesPace:
        """How well the disk and the lines were played."""
        carried = sum(it.answer.received for it in self.visitors)
        lost = sum(it.lost for it in self.visitors)
        return {**self._ledger.pace(), "lines_lost": lost / max(carried, 1)}
