"""Who hears of signals; and those that ask a command to stop, kept until it has heeded them."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any


@contextmanager
def handled(
    numbers: Iterable[signal.Signals], handler: Callable[[int, FrameType | None], None]
) -> Iterator[None]:
    """Has these signals call `handler` until the block ends, and then whoever heard of them before.

    Raises:
        ValueError: this is not the main thread.
    """
    before: dict[signal.Signals, Any] = {}
    try:
        for number in numbers:
            before[number] = signal.signal(number, handler)
        yield
    finally:
        for number, was in before.items():
            # None: it was not set by Python, which cannot set it again.
            signal.signal(number, was or signal.SIG_DFL)


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
