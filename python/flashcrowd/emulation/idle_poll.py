"""Processors that do not halt while a network runs: one set of threads for all runs of a process.

Those threads run when nobody else wants to (`SCHED_IDLE`). Linux weighs sessions against each other
before it weighs threads (autogroup, sched(7)), and gives one that only polls as much as one that
works. So labs and their programs stay in the session of who asks for a run, in process groups of
their own.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from flashcrowd import _core
from flashcrowd.errors import EngineError


class _Polling:
    """The threads, while somebody needs them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users = 0
        self._poll: _core.IdlePoll | None = None

    def begin(self) -> None:
        """One more run needs them."""
        with self._lock:
            if self._poll is None:
                try:
                    self._poll = _core.IdlePoll()
                except OSError as error:
                    raise EngineError(f"no thread that keeps processors awake: {error}") from None
            self._users += 1

    def end(self) -> None:
        """One run less."""
        with self._lock:
            self._users -= 1
            if self._users == 0 and self._poll is not None:
                self._poll.stop()
                self._poll = None


_POLLING = _Polling()


@contextmanager
def polling() -> Iterator[None]:
    """Keep the processors awake inside of the block.

    Raises:
        EngineError: the system gives no thread.
    """
    _POLLING.begin()
    try:
        yield
    finally:
        _POLLING.end()
