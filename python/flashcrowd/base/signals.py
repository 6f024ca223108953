"""Handlers of signals, requests to stop, and the signals by which a process ended."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any


@contextmanager
def handled(
    numbers: Iterable[signal.Signals], handler: Callable[[int, FrameType | None], None]
) -> Iterator[None]:
    """Has these signals call `handler` until the block ends; then restores the old handlers.

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


@contextmanager
def kept(numbers: Iterable[signal.Signals]) -> Iterator[None]:
    """Holds these signals back until the block ends; then the old handlers receive them.

    For imports that set handlers of their own. Whatever thread this is, unless they do.
    """
    before: dict[signal.Signals, Any] = {number: signal.getsignal(number) for number in numbers}
    held = signal.pthread_sigmask(signal.SIG_BLOCK, before)
    try:
        yield
    finally:
        for number, was in before.items():
            if signal.getsignal(number) is not was:
                signal.signal(number, was or signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, held)


class _Asked:
    by: signal.Signals | None = None
    last: int = signal.SIGINT


def ask(number: int, frame: FrameType | None = None) -> None:
    """A signal's handler: asks to stop, at once where the interpreter is and again by `heed`.

    Raises:
        KeyboardInterrupt: always. A library may drop it: pyarrow does where it imports pandas
            behind the scenes, and takes any exception of the import for "not there".
    """
    _Asked.by = signal.Signals(number)
    came(number)
    raise KeyboardInterrupt


def heed() -> None:
    """For loops that wait long.

    Raises:
        KeyboardInterrupt: there was a request to stop since `forget`.
    """
    if _Asked.by is not None:
        raise KeyboardInterrupt


def came(number: int) -> None:
    """Keeps which signal it was; for handlers that end what runs without an exception."""
    _Asked.last = number


def asked() -> signal.Signals | None:
    """By which signal, since `forget`."""
    return _Asked.by


def stopped() -> int:
    """The exit status of a command that was stopped: 130 after Ctrl-C, 143 after SIGTERM."""
    return 128 + _Asked.last


_CRASHES = ("SIGSEGV", "SIGBUS", "SIGABRT", "SIGILL", "SIGFPE", "SIGSYS", "SIGTRAP")
_HINTS = {"SIGKILL": "out of memory?", "SIGXFSZ": "ulimit -f", "SIGXCPU": "ulimit -t"}


def how_it_ended(status: int) -> str:
    """How a process ended, in words that follow its name.

    Args:
        status: as `subprocess` has it: of a process that a signal ended, minus its number.
    """
    if status >= 0:
        return f"ended with status {status}"
    names = {int(it): it.name for it in signal.Signals}
    name = names.get(-status, f"signal {-status}")
    if name in _CRASHES:
        return f"crashed: {name}"
    return f"was killed by {name}" + (f" ({_HINTS[name]})" if name in _HINTS else "")


def end_by(status: int) -> int:
    """Ends this process as another one ended, so that the parent sees how.

    Args:
        status: of the other one, as `subprocess` has it.

    Returns:
        The exit status to end with, where no signal ended the other one.
    """
    if status < 0:
        with contextlib.suppress(OSError, ValueError):
            signal.signal(-status, signal.SIG_DFL)  # SIGKILL has no other
        os.kill(os.getpid(), -status)
    return abs(status)


def forget() -> None:
    """Requests to stop an earlier command in this process do not count."""
    _Asked.by, _Asked.last = None, signal.SIGINT
