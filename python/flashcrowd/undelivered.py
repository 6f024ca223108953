"""What a run of real programs did not deliver, in the words of the simulation.

That is what lost its connection before it had all its bytes, and what nothing arrived of.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Protocol

UNDELIVERED = "undelivered"
"""The outcome of such a run."""
CUT = ("stalled", "horizon")
"""Outcomes that say by themselves that a crowd has not got its file."""
_UNDER_WAY_S = 1.0
"""What began later than this before the end may still be on its way."""


class Client(Protocol):
    """A client of a content server that has come."""

    visit: Any
    arrived_s: float
    left_s: float | None
    answer: Any
    broke_off: bool


def is_due(began_s: float | None, now_s: float) -> bool:
    """Whether something that began then should have arrived, at least in part."""
    return began_s is not None and now_s - began_s >= _UNDER_WAY_S


def lost(whose: str, total: int, what: str, each: Iterable[str]) -> Iterator[str]:
    """A line that says how many of `total` lost their connection, if any did.

    Args:
        whose: the workload.
        total: how many there were.
        what: what they are, in the plural.
        each: of each of these which it is, when, and how far it was.
    """
    found = list(each)
    if found:
        yield f"{whose}: {len(found)} of {total} {what} lost the connection, the first ({found[0]})"


def of_clients(origin: str, clients: Iterable[Client], now_s: float, outcome: str) -> Iterator[str]:
    """A line about the clients of a content server, if they lack something.

    Args:
        origin: its name.
        clients: those who came.
        now_s: when the run ended.
        outcome: how, as far as is known.
    """
    came = list(clients)
    broke_off = (
        f"client {it.visit.number} at {it.left_s or now_s:.1f} s after {it.answer.received} bytes"
        for it in came
        if it.broke_off
    )
    said = list(lost(f"origin {origin}", len(came), "clients", broke_off))
    due = any(is_due(it.arrived_s, now_s) for it in came)
    if outcome not in CUT and not said and due and not any(it.answer.received for it in came):
        said = [f"origin {origin}: no byte arrived at {len(came)} clients"]
    yield from said
