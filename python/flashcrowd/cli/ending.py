"""How a command ends early: Ctrl-C and SIGTERM, what goes on, and output that nobody takes."""

from __future__ import annotations

import os
import shlex
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TextIO


class _Ended:
    """By which signal this command was stopped last."""

    by = signal.SIGINT


@contextmanager
def terminable() -> Iterator[None]:
    """Lets SIGTERM do what Ctrl-C does, until the block ends."""
    _Ended.by = signal.SIGINT
    if (
        threading.current_thread() is not threading.main_thread()
        or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL
    ):
        yield
        return
    signal.signal(signal.SIGTERM, _terminate)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _terminate(number: int, frame: FrameType | None) -> None:
    _Ended.by = signal.SIGTERM
    raise KeyboardInterrupt


def stopped() -> int:
    """The exit status of a command that was stopped: 130 after Ctrl-C, 143 after SIGTERM."""
    return 128 + _Ended.by


def again() -> str:
    """The command that was given, for a person to give it again."""
    words = sys.argv[1:]
    return shlex.join(["flashcrowd", *words]) if words else "flashcrowd run …"


def open_streams() -> None:
    """Gives streams that the caller has closed a place where nothing is kept."""
    # Opened for good: the process has them until it ends.
    sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: SIM115
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115


def forget(stream: TextIO) -> None:
    """Nobody takes what a stream still holds; keeps the interpreter from complaining at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
