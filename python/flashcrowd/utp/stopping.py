"""Ctrl-C and SIGTERM end what runs in good order; a second one ends it at once.

So does an output that breaks: the other ends are told, as they are when a person ends it.
"""

from __future__ import annotations

import contextlib
import signal
import sys
import time
from collections.abc import Callable
from types import FrameType

from flashcrowd import _core
from flashcrowd.signals import handled

SLICE = 0.05
"""Seconds between two looks at what goes on."""
PATIENCE = 5.0
"""Seconds after which somebody who has asked for the end is told that it goes on."""
FAREWELL = 10.0
"""Seconds that the other ends have to hear of the end, where the output has broken."""


def attend(
    task: _core.UtpTransfer | _core.UtpServer | _core.ContentServer, tick: Callable[[], None]
) -> int:
    """Waits until it has ended, and calls `tick` meanwhile; how often a signal came.

    What `tick` raises is raised once it has ended.
    """
    pressed = 0
    remind = float("inf")

    def stop(number: int, frame: FrameType | None) -> None:
        nonlocal pressed, remind
        pressed += 1
        remind = time.monotonic() + PATIENCE if pressed == 1 else float("inf")
        task.stop()
        if pressed == 1 and sys.stderr.isatty():
            print("\nStopping; once more to stop at once.", file=sys.stderr)

    with handled((signal.SIGINT, signal.SIGTERM), stop):
        try:
            while not task.wait(SLICE):
                tick()
                if time.monotonic() >= remind:
                    remind = float("inf")
                    text = "Waiting for what is under way; once more to stop at once."
                    print(text, file=sys.stderr, flush=True)
        except OSError:
            _part(task)
            raise
    return pressed


def _part(task: _core.UtpTransfer | _core.UtpServer | _core.ContentServer) -> None:
    """Ends it in good order, and at once after a while."""
    with contextlib.suppress(OSError):
        print("The output is broken: this ends.", file=sys.stderr, flush=True)
    for _ in range(2):
        task.stop()
        if task.wait(FAREWELL):
            return
