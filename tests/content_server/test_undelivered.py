"""Clients of a content server that lost their connection, in the words of the simulation."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest

from flashcrowd import _core
from flashcrowd.content_server import undelivered


@dataclass
class Client:
    number: int
    received: int = 0
    broke_off: bool = False
    arrived_s: float = 1.0
    left_s: float | None = 9.0

    @property
    def visit(self) -> Any:
        return SimpleNamespace(number=self.number)

    @property
    def answer(self) -> Any:
        return SimpleNamespace(received=self.received)


def of(*clients: Client, now_s: float = 10.0, outcome: str = "completed") -> tuple[str, str]:
    lines = list(undelivered.of_clients("mirror", clients, now_s, outcome))
    return _core.with_undelivered(outcome, "why" if outcome == "horizon" else "", lines)


def test_who_lost_the_connection_is_counted() -> None:
    clients = (Client(0, 9), Client(1, 3, broke_off=True), Client(2, 0, broke_off=True))
    lost = "origin mirror: 2 of 3 clients lost the connection, the first (client 1 at 9.0 s"
    assert of(*clients) == ("undelivered", f"{lost} after 3 bytes)")
    cut = of(*clients, outcome="horizon")
    assert cut == ("undelivered", f"{lost} after 3 bytes); cut off in time: why")


@pytest.mark.parametrize(
    ("clients", "now_s", "outcome", "found"),
    [
        ((Client(0, 9), Client(1, 0)), 10.0, "completed", "completed"),
        ((Client(0), Client(1)), 10.0, "completed", "undelivered"),
        ((Client(0), Client(1)), 1.5, "completed", "completed"),
        ((Client(0), Client(1)), 10.0, "horizon", "horizon"),
        ((), 10.0, "completed", "completed"),
    ],
)
def test_nothing_at_all_is_no_success(
    clients: tuple[Client, ...], now_s: float, outcome: str, found: str
) -> None:
    assert of(*clients, now_s=now_s, outcome=outcome)[0] == found
