"""Processors that do not halt while a network runs: one process polls for all runs of another.

Its threads run only when the processor is idle (`SCHED_IDLE`). Linux weighs sessions against each
other before it weighs threads (autogroup, sched(7)): if some threads of a session poll, its working
threads are scheduled late. So the poller has a session of its own, with the lowest weight.

    python -m flashcrowd.emulation.idle_poll    # polls until its standard input ends
"""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from flashcrowd import _core
from flashcrowd.base.errors import EngineError

_WEIGHT = Path("/proc/self/autogroup")
_NICEST = 19


class _Polling:
    """The process, while a run needs it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users = 0
        self._process: subprocess.Popen[bytes] | None = None

    def begin(self) -> None:
        """One more run needs it."""
        with self._lock:
            if self._process is not None and self._process.poll() is not None:
                self._stop()  # it was killed
            if self._process is None:
                try:
                    self._process = subprocess.Popen(
                        [sys.executable, "-m", __name__],
                        stdin=subprocess.PIPE,  # which ends with this process
                        stdout=subprocess.DEVNULL,
                        stderr=subprocess.DEVNULL,
                        start_new_session=True,
                    )
                except OSError as error:
                    raise EngineError(f"no process that keeps processors awake: {error}") from None
            self._users += 1

    def end(self) -> None:
        """One run less."""
        with self._lock:
            self._users -= 1
            if self._users == 0:
                self._stop()

    def _stop(self) -> None:
        if self._process is not None:
            with self._process as process:
                process.kill()
            self._process = None


_POLLING = _Polling()


@contextmanager
def polling() -> Iterator[None]:
    """Keep the processors awake inside of the block.

    Raises:
        EngineError: the system gives no process.
    """
    _POLLING.begin()
    try:
        yield
    finally:
        _POLLING.end()


def main() -> None:
    """Poll until the parent of this process is gone."""
    with suppress(OSError):  # a kernel without autogroup weighs threads alone
        _WEIGHT.write_text(str(_NICEST))
    poll = _core.IdlePoll()
    sys.stdin.buffer.read()
    poll.stop()


if __name__ == "__main__":
    main()
