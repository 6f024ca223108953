"""Ctrl-C and SIGTERM end what runs in good order; a second one ends it at once."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable
from types import FrameType

from flashcrowd import _core
from flashcrowd.signals import handled

SLICE = 0.05
"""Seconds between two looks at what goes on."""


def attend(
    task: _core.UtpTransfer | _core.UtpServer | _core.ContentServer, tick: Callable[[], None]
) -> int:
    """Waits until it has ended, and calls `tick` meanwhile; how often a signal came."""
    pressed = 0

    def stop(number: int, frame: FrameType | None) -> None:
        nonlocal pressed
        pressed += 1
        task.stop()
        if pressed == 1 and sys.stderr.isatty():
            print("\nStopping; once more to stop at once.", file=sys.stderr)

    with handled((signal.SIGINT, signal.SIGTERM), stop):
        while not task.wait(SLICE):
            tick()
    return pressed
