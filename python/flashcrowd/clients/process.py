"""A program that runs as a process of its own: started at a place, watched, stopped."""

from __future__ import annotations

import collections
import contextlib
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from flashcrowd.base.errors import shown_line
from flashcrowd.base.signals import how_it_ended
from flashcrowd.clients.host_sandbox import HostSandbox, entered

_DYING_S = 0.5
GRACE_S = 10.0
"""How long a program may take to end once it was asked to."""
LAST_LINES = 12
MOST_LOG = 16_000_000
"""After this number of bytes a program's output file is truncated."""


class Process:
    """One process at a place; it dies when the thread that started it does.

    The thread enters the namespace for the start, and the process is born there. `setpriv` of
    util-linux sets the signal that it gets when its parent is gone (`PR_SET_PDEATHSIG`), and
    becomes the program.
    """

    def __init__(
        self,
        place: HostSandbox,
        command: Sequence[str | Path],
        log: Path,
        env: Mapping[str, str] | None = None,
        user: int | None = None,
    ) -> None:
        """Start it.

        Args:
            place: where.
            command: the program and its arguments.
            log: file for what it writes to its outputs.
            env: more variables of its environment.
            user: number of the user and the group that it runs as; None for the user that runs
                this. A program that changes its user by itself forgets the signal (`prctl(2)`).

        Raises:
            OSError: the program, or setpriv, is not there.
        """
        setpriv = shutil.which("setpriv")
        if setpriv is None:
            raise FileNotFoundError("setpriv is not there: install util-linux")
        ids = [] if user is None else [f"--reuid={user}", f"--regid={user}", "--clear-groups"]
        self.log = log
        self._end: float | None = None
        self._killed = False
        # Appended to, so that what is dropped of it leaves no hole.
        with log.open("ab") as out, entered(place.netns):
            self._popen = subprocess.Popen(
                [setpriv, *ids, "--pdeathsig", "KILL", "--", *map(str, command)],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                env={**os.environ, **(env or {})},
                cwd=log.parent,
                process_group=0,  # `kill` ends it with what it started
            )

    @property
    def pid(self) -> int:
        """Its number."""
        return self._popen.pid

    def status(self) -> int | None:
        """How it ended; None while it runs."""
        return self._popen.poll()

    def hung_up(self) -> int | None:
        """How it ended, if it did: one that dies closes its sockets before its end can be seen."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._popen.wait(_DYING_S)
        return self.status()

    def how_it_ended(self) -> str:
        """Its end in words."""
        status = self.status()
        if status is None:
            return "it runs"
        return "it did not end, and was killed" if self._killed else f"it {how_it_ended(status)}"

    def last_lines(self) -> list[str]:
        """The last that it wrote."""
        return last_lines(self.log)

    def trim(self) -> None:
        """Drop what it has written if that is too much: its log may not fill the disk."""
        with contextlib.suppress(OSError):
            if self.log.stat().st_size > MOST_LOG:
                os.truncate(self.log, 0)

    def end(self) -> None:
        """Ask it to end, by a signal."""
        if self.status() is None:
            self.expect_end()
            self._popen.terminate()

    def expect_end(self) -> None:
        """It has been asked to end, in whatever way: its time begins to run."""
        if self._end is None:
            self._end = time.monotonic() + GRACE_S

    def is_gone(self) -> bool:
        """Whether it has ended; one that was asked to and did not for `GRACE_S` is killed."""
        if self.status() is not None:
            return True
        if self._end is not None and time.monotonic() >= self._end:
            self.kill()
        return False

    def kill(self) -> None:
        """End it, and what it started, at once."""
        if self.status() is None:
            self._killed = True
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.pid, signal.SIGKILL)
            self._popen.wait()


def last_lines(log: Path) -> list[str]:
    """The end of a file that a program writes; nothing while there is none."""
    try:
        with log.open("r", errors="replace", newline="\n") as lines:
            return [shown_line(line.rstrip()) for line in collections.deque(lines, LAST_LINES)]
    except OSError:
        return []
