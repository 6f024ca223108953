"""How a command ends early: Ctrl-C, SIGTERM, patience, and output without a reader."""

from __future__ import annotations

import os
import shlex
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from flashcrowd.base import signals


@contextmanager
def terminable() -> Iterator[None]:
    """Lets Ctrl-C and SIGTERM stop what runs in the block, and keeps that they came."""
    signals.forget()
    usual = {
        signal.SIGINT: (signal.default_int_handler, signal.SIG_DFL),
        signal.SIGTERM: (signal.SIG_DFL,),
    }
    if threading.current_thread() is not threading.main_thread():
        usual = {}
    # A handler set by the caller stays.
    ours = [number for number, was in usual.items() if signal.getsignal(number) in was]
    with signals.handled(ours, signals.ask):
        yield


def again() -> str:
    """The command that was given, for a person to give it again."""
    words = sys.argv[1:]
    return shlex.join(["flashcrowd", *words]) if words else "flashcrowd run …"


def kept() -> str:
    """The message to a user whose download ended early."""
    return f"What came is kept. Go on with: {again()}"


def open_streams() -> None:
    """Gives streams that the caller has closed a place where nothing is kept."""
    # Opened for good: the process has them until it ends.
    sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: SIM115
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115


def forget(stream: TextIO) -> None:
    """Drops what a stream still holds; keeps the interpreter from complaining at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
