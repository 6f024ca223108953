"""Ctrl-C and SIGTERM end what runs in good order; a second one ends it at once.

So does an output that breaks: the other ends stop, as they do when a person ends it.
"""

from __future__ import annotations

import contextlib
import signal
import sys
import time
from collections.abc import Callable
from types import FrameType
from typing import Protocol

from flashcrowd.base.signals import came, handled

SLICE = 0.05
"""Seconds between two looks at what goes on."""
PATIENCE = 5.0
"""Seconds after a request to stop, at which the user learns that it goes on."""
FAREWELL = 10.0
"""Seconds that the other ends have to hear of the end, where the output has broken."""
STUCK = 10.0
"""Seconds without a byte that arrives, after which an end in good order is broken off."""
DRAIN = 30.0
"""Seconds that an end in good order takes at most."""


class Task(Protocol):
    """A task that runs until it has ended, or is stopped."""

    def wait(self, seconds: float) -> bool:
        """Wait at most this long; whether it has ended."""
        ...

    def stop(self) -> None:
        """End in good order; the second time at once."""
        ...


def attend(
    task: Task,
    tick: Callable[[], None],
    moved: Callable[[], int] | None = None,
    heard: Callable[[], int] = lambda: 0,
) -> int:
    """Waits until it has ended, and calls `tick` meanwhile; how often a signal came.

    An error of `tick` is raised once it has ended.

    Args:
        task: what runs.
        tick: called every `SLICE`.
        heard: how often signals came, where two that come together are not taken for one.
        moved: the bytes that have arrived so far, where the end is bounded by `STUCK` and `DRAIN`.
    """
    pressed = 0
    told = False
    live = sys.stderr.isatty()
    remind = float("inf")
    drain: _Drain | None = None

    def stop(number: int, frame: FrameType | None) -> None:
        nonlocal pressed, remind, drain
        came(number)
        pressed += 1
        remind = time.monotonic() + PATIENCE if pressed == 1 else float("inf")
        drain = _Drain(moved) if moved is not None and pressed == 1 else None
        task.stop()

    with handled((signal.SIGINT, signal.SIGTERM), stop):
        try:
            while not task.wait(SLICE):
                while 0 < pressed < heard():
                    stop(signal.SIGINT, None)
                # Not by the handler, which may interrupt a write to the same stream.
                if pressed == 1 and live and not told:
                    told = True
                    print("\nStopping; once more to stop at once.", file=sys.stderr, flush=True)
                tick()
                if time.monotonic() >= remind:
                    remind = float("inf")
                    again = "" if told else "; once more to stop at once"
                    text = f"Waiting for what is under way{again}."
                    print(text, file=sys.stderr, flush=True)
                if drain is not None and (why := drain.over()):
                    drain = None
                    print(f"{why}: this breaks off.", file=sys.stderr, flush=True)
                    task.stop()
        except OSError:
            _part(task)
            raise
    return pressed


class _Drain:
    """How long an end in good order has taken, and how long nothing has arrived."""

    def __init__(self, moved: Callable[[], int]) -> None:
        self._moved, self._bytes = moved, moved()
        self._began = self._last = time.monotonic()

    def over(self) -> str:
        """Why it is not waited for any longer; empty while it is."""
        now, arrived = time.monotonic(), self._moved()
        if arrived != self._bytes:
            self._bytes, self._last = arrived, now
        if now - self._last >= STUCK:
            return f"Nothing has arrived for {STUCK:g} s"
        if now - self._began >= DRAIN:
            return f"What was under way has not arrived within {DRAIN:g} s"
        return ""


def _part(task: Task) -> None:
    """Ends it in good order, and at once after a while."""
    with contextlib.suppress(OSError):
        print("The output is broken: this ends.", file=sys.stderr, flush=True)
    for _ in range(2):
        task.stop()
        if task.wait(FAREWELL):
            return
