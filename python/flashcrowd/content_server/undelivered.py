"""What the clients of a content server did not get."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

from flashcrowd import _core


class Client(Protocol):
    """A client of a content server that has come."""

    visit: Any
    arrived_s: float
    left_s: float | None
    answer: Any
    broke_off: bool


def of_clients(origin: str, clients: Iterable[Client], now_s: float, outcome: str) -> list[str]:
    """A line about the clients of a content server, if they lack something.

    Args:
        origin: its name.
        clients: those who came.
        now_s: when the run ended.
        outcome: how, as far as is known.
    """
    came = [
        (it.visit.number, it.arrived_s, it.left_s, it.answer.received, it.broke_off)
        for it in clients
    ]
    line = _core.origin_undelivered(origin, came, now_s, outcome)
    return [] if line is None else [line]
