"""Signals that ask a command to stop, kept until the command has heeded them."""

from __future__ import annotations

import signal
from types import FrameType


class _Asked:
    by: signal.Signals | None = None


def ask(number: int, frame: FrameType | None = None) -> None:
    """A signal's handler: asks to stop, at once where the interpreter is and again by `heed`.

    Raises:
        KeyboardInterrupt: always. A library may drop it: pyarrow does where it imports pandas
            behind the scenes, and takes any exception of the import for "not there".
    """
    _Asked.by = signal.Signals(number)
    raise KeyboardInterrupt


def heed() -> None:
    """For loops that wait long.

    Raises:
        KeyboardInterrupt: somebody has asked to stop since `forget`.
    """
    if _Asked.by is not None:
        raise KeyboardInterrupt


def asked() -> signal.Signals | None:
    """By which signal, since `forget`."""
    return _Asked.by


def forget() -> None:
    """What was asked of an earlier command in this process does not count."""
    _Asked.by = None
