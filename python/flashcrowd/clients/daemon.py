"""The common part of clients that are processes of their own."""

from __future__ import annotations

import contextlib
import os
import shlex
import subprocess
import time
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from flashcrowd.clients import elsewhere, kernel
from flashcrowd.clients.client import HUNG_S, STOP_S, Client, ClientFailed, Found, Job, Progress
from flashcrowd.clients.process import Process
from flashcrowd.clients.rpc import Http, RpcError

ASK_S = 1.0
"""How often a program is asked for its counters."""
LISTEN_S = 10.0
"""A program that answers, but does not listen for peers after this time, never will."""


def first_line(name: str, command: Sequence[str], path: str) -> Found | None:
    """A program by what it says when it is asked for its version: the second word or the last."""
    try:
        said = subprocess.run(
            [path, *command], check=False, capture_output=True, text=True, timeout=20
        )
    except (OSError, subprocess.SubprocessError):
        return None
    lines = (said.stdout + said.stderr).strip().splitlines()
    words = [word.strip("v.") for word in (lines[0].split() if lines else [])]
    version = next((word for word in words if word[:1].isdigit()), "of unknown version")
    return Found(name, version, path)


class Daemon(Client):
    """A client that is a process: it starts before its peer arrives, joins, and ends.

    The program itself runs a hook at completion, which touches a file: its time is the instant.
    Polling once a second would be less precise.
    """

    listens_first = False
    """Whether it listens for peers from its start on, and goes on without a word if it cannot."""
    linger_s = 0.0
    """From leaving the torrent until counters are final, and usually the tracker knows."""

    def __init__(self, job: Job) -> None:
        super().__init__(job)
        self.hook = job.folder / "complete"
        self.http: Http | None = None
        """How it is asked, if by HTTP."""
        self._process: Process | None = None
        self._listened_before = frozenset[int]()
        self._listens = False
        self._up_at: float | None = None
        self._asked_at = 0.0
        self._bits: int | None = None
        self._answered_at = time.monotonic()
        self._all_there_at: float | None = None
        self._left_at = 0.0
        self._joined = self._left = self._ending = False
        self._told = True
        """Whether it announces `stopped` when it leaves."""

    # Differs from program to program.

    @abstractmethod
    def is_up(self) -> bool:
        """Whether it answers; what must be set by asking is set the first time it does."""

    @abstractmethod
    def add(self) -> None:
        """Give it the torrent; it announces itself."""

    @abstractmethod
    def ask(self) -> Progress:
        """Its counters; `_bits` are brought up to date, too."""

    @abstractmethod
    def drop(self) -> None:
        """Have it leave the torrent: it announces `stopped`. It still answers `ask` afterwards."""

    def quit(self) -> None:
        """Have it end; by a signal, unless it has a better way."""
        if self._process is not None:
            self._process.end()

    # Common to all programs.

    def start(self, command: Sequence[str | Path], env: Mapping[str, str] | None = None) -> None:
        """Start the process.

        Raises:
            ClientFailed: it cannot be started.
        """
        home = {"HOME": str(self.job.folder), "XDG_CONFIG_HOME": str(self.job.folder)}
        self._listened_before = kernel.listeners(self.job.place, self.job.port)
        try:
            log = self.job.folder / "log"
            self._process = Process(self.job.place, command, log, {**home, **(env or {})})
        except OSError as error:
            raise self.failure(f"it cannot be started: {error}") from None
        self.pid = self._process.pid

    @property
    def hook_command(self) -> str:
        """A shell command that touches the hook's file."""
        return f"/bin/touch {shlex.quote(str(self.hook))}"

    def is_ready(self) -> bool:
        """Whether it answers, and listens for peers."""
        self._alive()
        try:
            return self.is_up() and (self._listens or self._has_port())
        except RpcError as error:
            raise self._silent(error) from None

    def _has_port(self) -> bool:
        """Whether its port has a listener now that was not there before it came."""
        if not self.listens_first:
            return True
        place, port = self.job.place, self.job.port
        self._listens = bool(kernel.listeners(place, port) - self._listened_before)
        now = time.monotonic()
        self._up_at = self._up_at or now
        if not self._listens and now - self._up_at > LISTEN_S:
            raise self.failure(f"it does not listen at {place.address}:{port}")
        return self._listens

    def join(self) -> None:
        """Give it the torrent."""
        self._joined = True
        self._try(self.add)

    def look(self) -> None:
        """See whether it runs, whether its hook ran, and ask it once a second."""
        self._alive()
        if not self._joined or self._left:
            return
        self._see_hook()
        now = time.monotonic()
        if now - self._asked_at >= ASK_S:
            self._asked_at = now
            self._look_closely(now)

    def _look_closely(self, now: float) -> None:
        try:
            self.progress = self.ask()
        except RpcError as error:
            if now - self._answered_at > HUNG_S:
                raise self.failure(f"no answer for {HUNG_S:g} s: {error}") from None
            return
        self._answered_at = time.monotonic()
        if self.job.seed or self.completed_at is not None:
            return
        if self.progress.pieces < self.job.torrent.pieces:
            self._all_there_at = None
        elif self._all_there_at is None:
            self._all_there_at = now
        elif now - self._all_there_at > HUNG_S:
            raise self.failure(f"it has every piece, and did not say so within {HUNG_S:g} s")

    def _see_hook(self) -> None:
        if self.completed_at is None and not self.job.seed:
            with contextlib.suppress(FileNotFoundError):
                age = time.time() - os.stat(self.hook).st_mtime
                self.completed_at = time.monotonic() - age

    def has(self) -> int | None:
        """The last answer to `ask`."""
        return self._bits

    def leave(self, *, told: bool = True) -> None:
        """Leave the torrent; the process ends when the tracker knows."""
        if self._left:
            return
        self._left, self._told = True, told
        self._left_at = time.monotonic()
        if self._joined:
            # A program that crashed now is found when it is looked at; one that hangs is killed.
            with contextlib.suppress(RpcError):
                self.drop()
        else:
            self._end()

    def is_closed(self) -> bool:
        """Whether its process has ended; it is asked for its counters before it does."""
        if self._left and not self._ending and not self._lingers():
            with contextlib.suppress(RpcError):
                self.progress = self.ask()
            self._end()
        return self._process is None or self._process.is_gone()

    def _lingers(self) -> bool:
        waited = time.monotonic() - self._left_at
        known = waited < STOP_S and self.job.is_known()
        return self._told and (waited < self.linger_s or known)

    def _end(self) -> None:
        self._ending = True
        if self._process is not None:
            self._process.expect_end()
        self.quit()

    def kill(self) -> None:
        """End its process at once."""
        if self.http is not None:
            self.http.close()
        if self._process is not None:
            self._process.kill()
        elsewhere.remove(self.job.folder)

    @property
    def how_it_ended(self) -> str:
        """The end of its process in words."""
        return "it was not started" if self._process is None else self._process.how_it_ended()

    def last_lines(self) -> list[str]:
        """The last lines of its log."""
        return [] if self._process is None else self._process.last_lines()

    def _alive(self) -> None:
        if self._process is None:
            return
        if self._process.status() is not None and not self._left:
            raise self.failure(self._process.how_it_ended())
        self._process.trim()

    def _try(self, what: Callable[[], object]) -> None:
        try:
            what()
        except RpcError as error:
            raise self._silent(error) from None

    def _silent(self, error: RpcError) -> ClientFailed:
        """Why it said nothing: because it has ended, if it has."""
        ended = self._process is not None and self._process.hung_up() is not None
        return self.failure(self.how_it_ended if ended else str(error))
