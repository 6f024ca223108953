"""Runs side by side must not disturb each other: a budget of predicted packets per second."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from flashcrowd.cores import cores
from flashcrowd.errors import Cancelled

PACKETS_PER_CORE = 25_000
"""Packets per second that a core carries without anybody noticing: 20 us each for both kernels'
stacks, the emulator and the programs, at half of its time."""
_LOOK_S = 0.1


class _Cancellable(Protocol):
    @property
    def cancelled(self) -> bool: ...


class _Budget:
    """What is left of this machine."""

    def __init__(self) -> None:
        self.condition = threading.Condition()
        self.used = 0.0
        self.runs = 0


_BUDGET = _Budget()


@contextmanager
def share(packets_per_s: float, control: _Cancellable) -> Iterator[None]:
    """Wait until a run with so many packets per second fits beside those under way.

    One alone always does.

    Raises:
        Cancelled: the run was cancelled while it waited.
    """
    most = PACKETS_PER_CORE * cores()
    budget = _BUDGET
    with budget.condition:
        while budget.runs and (budget.used + packets_per_s > most or budget.runs >= cores()):
            if control.cancelled:
                raise Cancelled
            budget.condition.wait(_LOOK_S)
        budget.used += packets_per_s
        budget.runs += 1
    try:
        yield
    finally:
        with budget.condition:
            budget.used -= packets_per_s
            budget.runs -= 1
            budget.condition.notify_all()
