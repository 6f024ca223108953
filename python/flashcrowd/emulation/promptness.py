"""Whether content servers and their clients keep up with the network, or lack a processor.

A program without a processor is slower than any network would make it, and no packet is late for
it. Clients are on one thread: where it is late for what is due, it is as late for what has come.
The kernel knows how long threads of a server ran, or waited for a processor (`schedstat`).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from flashcrowd.emulation.timetable import Timetable
from flashcrowd.emulation.verdict import BAD_SECONDS, BUSY

EVERY_S = 1.0
"""The period at which both are looked at."""
TICK_S = 0.01
"""The period of a timer on the clients' thread."""
LATE_S = 0.01
"""Clients that are later than this are late; lines have queues of as much and more."""
MOST_LATE = 0.25
"""The part of a second in which they may be."""
SERVER = "flashcrowd-http"
"""The name of a content server's threads (`crates/python/src/content_server.rs`)."""
_TASKS = Path("/proc/self/task")


def is_known() -> bool:
    """Whether this kernel tells how long threads have run and waited."""
    try:
        had_ns, _, _ = (_TASKS.parent / "schedstat").read_text().split()
    except OSError:
        return False
    return int(had_ns) > 0


class Promptness:
    """How prompt the clients and the servers of a run are, second by second.

    Attributes:
        late: the part of each second in which the clients were late.
        wanted: what the thread of a server that wanted most of a processor wanted of it.
    """

    def __init__(self) -> None:
        self.late: list[float] = []
        self.wanted: list[float] = []
        self._then_s = 0.0
        self._late_s = 0.0
        self._wanted_ns: dict[str, int] = {}

    def start(self, table: Timetable) -> None:
        """Watch from the begin of the run on."""
        self._wanted_ns = dict(_wanted_ns())
        table.at(0.0, lambda: self._tick(table, 0.0))

    def _tick(self, table: Timetable, due_s: float) -> None:
        now_s = table.now()
        # Nothing was due before: the last lateness ended before that.
        if now_s - due_s > LATE_S:
            self._late_s += now_s - due_s
        if now_s - self._then_s >= EVERY_S:
            self._look(now_s)
        following_s = now_s + TICK_S
        table.at(following_s, lambda: self._tick(table, following_s))

    def _look(self, now_s: float) -> None:
        """Write down how it was since the last time."""
        wanted_ns, span_s = dict(_wanted_ns()), now_s - self._then_s
        # A thread that is new has wanted all of it since the last time.
        grown = (total - self._wanted_ns.get(it, 0) for it, total in wanted_ns.items())
        most = max(grown, default=0) / 1e9
        # A second that took longer, since the thread was late, is several.
        for _ in range(round(span_s / EVERY_S)):
            self.wanted.append(most / span_s)
            self.late.append(self._late_s / span_s)
        self._then_s, self._late_s, self._wanted_ns = now_s, 0.0, wanted_ns

    def worst(self) -> dict[str, float]:
        """The worst second of both."""
        return {
            "clients_late": max(self.late, default=0.0),
            "server_wanted": max(self.wanted, default=0.0),
        }

    def violations(self) -> list[str]:
        """Threads that were late, or short of a processor, in words; none if none was."""
        found = []
        for shares, most, words in (
            (
                self.late,
                MOST_LATE,
                f"clients of content servers were later than {1e3 * LATE_S:g} ms for more than "
                f"{MOST_LATE:.0%} of",
            ),
            (
                self.wanted,
                BUSY,
                f"a thread of a content server wanted more than {BUSY:.0%} of a processor in",
            ),
        ):
            bad = sum(share > most for share in shares)
            if bad > BAD_SECONDS * len(shares):
                found.append(f"{words} {bad} of {len(shares)} seconds")
        return found


def _wanted_ns() -> Iterator[tuple[str, int]]:
    """Time that each thread of a server has run and waited so far, by its number."""
    for place in _TASKS.iterdir():
        try:
            if (place / "comm").read_text().strip() == SERVER:
                had_ns, waited_ns, _ = (place / "schedstat").read_text().split()
                yield place.name, int(had_ns) + int(waited_ns)
        except (FileNotFoundError, ProcessLookupError):
            continue  # it has just ended
