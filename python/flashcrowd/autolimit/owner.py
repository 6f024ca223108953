"""The owner of a client's limit: the user, or us by an order that came soon, late, or again.

A limit that we ordered is never the user's, whenever it is seen: a client may take a second for it,
a proxy may hold a write up, and a client that lost its power comes back with an old one. Nor is the
one with which a client was started again: that is what it had saved, perhaps long before. Nor is
the one that a client has right after it answered an order: it rounds, or has a least limit.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from flashcrowd.client_api.client import Setting

PAST = 1000
"""The number of different limits set by us that are remembered."""
APPLY_NS = 5 * 10**9
"""A client has this time to follow an order before another one is tried."""
STUBBORN = 3
"""A client that ignored this number of orders in a row does not take limits."""
LATE_NS = 60 * 10**9
"""A limit of the user's that we gave back may come to the client so late."""
MANY = 5
"""Changes by others within a minute, from which on a program makes them, not a person."""


class Owner:
    """What is known of one client's limit.

    Attributes:
        user: what the user wants the client to have.
        began: what the client had when all began.
        ours: limits that were ordered, each once, the last one last.
        obeyed: whether the client follows orders.
        disputed: whether something else sets limits again and again.
        stale: the limit with which the client was started again, or that it made of an order, as
            long as it has that.
        hopeless: whether the client makes another limit of the user's, too.
        remarks: what a person should know, oldest first; the reader takes them out.
    """

    def __init__(
        self,
        setting: Setting,
        ours: Sequence[int] = (),
        given: Sequence[int | None] = (),
        now: int = 0,
    ) -> None:
        """Begins with what the client has.

        Args:
            setting: that.
            ours: limits that an earlier run ordered.
            given: limits that were given back, and may come late.
            now: the instant, in nanoseconds.
        """
        self.user = self.began = setting
        self.ours = list(ours)
        self.obeyed, self.disputed, self.hopeless = True, False, False
        self.stale: list[int | None] = []
        self.remarks: list[str] = []
        self._ordered: tuple[int | None, int] | None = None
        self._misses = 0
        self._given: list[tuple[int | None, int, bool]] = [(it, now, False) for it in given]
        self._changes: deque[int] = deque(maxlen=MANY)

    def order(self, limit: int | None) -> None:
        """A limit is about to be ordered; None for the user's."""
        if limit is None:
            return
        if limit in self.ours:
            self.ours.remove(limit)
        self.ours = [*self.ours[-PAST + 1 :], limit]

    def told(self, now: int, limit: int | None, answered: bool) -> None:
        """An order has come to the client, or may have if it was not answered."""
        self._ordered = (self.user.limit if limit is None else limit, now)
        if limit is None:
            self._given.append((self.user.limit, now, answered))

    def made(self, limit: int | None, before: int | None) -> None:
        """The client has this right after it answered an order, and had the other one before."""
        ordered = None if self._ordered is None else self._ordered[0]
        known = (ordered, before, self.user.limit, *self.ours, *(it[0] for it in self._given))
        if limit is None or limit in known:
            return
        self.stale = [limit]
        if ordered == self.user.limit:
            self.hopeless, self._misses = True, STUBBORN
        self._miss()

    def free(self, now: int) -> bool:
        """Whether there may be another order: the last one was followed, or its time is over."""
        if self._ordered is not None and now - self._ordered[1] >= APPLY_NS:
            self._miss()
        return self._ordered is None

    def again(self) -> None:
        """The client was away, and perhaps started again: what it was ordered before is over."""
        self._ordered = None

    def reloaded(self, limit: int | None) -> None:
        """The client was started again, and has a limit that it had saved at some time."""
        if limit == self.user.limit or limit in self.ours:
            return
        self.stale = [limit]
        self.remarks.append(
            f"the client was started again and came back with {_shown(limit)}: autolimit goes on, "
            f"and restores {_shown(self.user.limit)} at the end"
        )

    def saw(self, now: int, setting: Setting) -> None:
        """The client has this."""
        limit = setting.limit
        if limit in self.stale:
            return
        self.stale = []
        if self._ordered is not None and limit == self._ordered[0]:
            self._ordered, self._misses = None, 0
        self._given = [
            (given, at, answered)
            for given, at, answered in self._given
            if now - at < LATE_NS and not (answered and limit == given == self.user.limit)
        ]
        if limit in self.ours or any(limit == it[0] for it in self._given):
            return
        if limit != self.user.limit:
            self._ordered = None
            self._changed(now, limit)
        elif self.ours:
            return  # the same limit in words that may be left from ours
        self.user = setting

    def _miss(self) -> None:
        """The last order was not followed in time."""
        self._ordered = None
        self._misses += 1
        if self._misses >= STUBBORN and self.obeyed:
            self.obeyed = False
            self.remarks.append(
                "the client does not keep the limits that it is given: only watching"
            )

    def _changed(self, now: int, limit: int | None) -> None:
        """A user or another program has set a limit."""
        if self.disputed:
            return
        self.remarks.append(
            f"the limit was changed in the client to {_shown(limit)}: autolimit goes no higher, "
            "and leaves it so at the end"
        )
        self._changes.append(now)
        if len(self._changes) == MANY and now - self._changes[0] < LATE_NS:
            self.disputed = True
            self.remarks.append(
                "something else changes the limit again and again (another autolimit?): only "
                "watching"
            )


def _shown(limit: int | None) -> str:
    return "no limit" if limit is None else f"{limit / 1e3:g} kB/s"
