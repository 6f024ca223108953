"""The user's limit, on disk before anything is changed.

A process that is killed cannot restore it; the next one can.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import socket
import stat
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path

from flashcrowd.autolimit.orders import HELD_S, Orders
from flashcrowd.client_api.client import Refused

_HERE = re.compile(r"://(127\.0\.0\.1|\[::1\])(?=[:/]|$)")
"""This machine, by other names than `localhost`. Names of others are not resolved: their addresses
may change until the file is needed again.
"""
_HOST = re.compile(r"(?<=://)(\[[^]]*\]|[^:/]*)")
"""The host of a place."""
_FORMAT = 1
_LONGEST = 1 << 20
"""Bytes of a state file, at most."""
_YOUNG_S = 10.0
"""Seconds after which a client has received each order of a killed process."""


def folders() -> list[Path]:
    """Where state may be; the first one is where it is kept.

    STATE_DIRECTORY (systemd), and XDG_STATE_HOME or below home, where a run by hand keeps it.
    """
    given = os.environ.get("STATE_DIRECTORY")
    base = os.environ.get("XDG_STATE_HOME")
    usual = (Path(base) if base else Path.home() / ".local" / "state") / "flashcrowd" / "autolimit"
    return [Path(given.split(":")[0]), usual] if given else [usual]


class Damaged(Refused):
    """The state file does not say what the user had."""


class Memory:
    """The state file of one client, held by one process at a time.

    Attributes:
        had: the client's own words for what the user had; None if nothing was changed.
        ours: limits in bytes per second that the client may have because of us, the last one last.
        orders: those of this process that were not seen in the client.
    """

    def __init__(self, place: str, peer: str | None = None) -> None:
        """Takes the file of a client.

        Args:
            place: where the client is, as it was named.
            peer: the host that it resolved to: `localhost` for this machine, else an address.

        Raises:
            Refused: another process has it, or it cannot be written.
            Damaged: it does not say what the user had.
        """
        known = _HERE.sub("://localhost", place.lower())
        known = _HOST.sub("localhost", known, 1) if peer == "localhost" else known
        name = re.sub(r"[^a-z0-9.]+", "-", known)
        self.path = folders()[0] / f"{name}.json"
        self.had: dict[str, object] | None = None
        self.ours: list[int] = []
        self.orders = Orders()
        self._held = 0.0
        self._sole = self._lock = None
        try:
            self._sole = _sole(known if peer is None else _HOST.sub(peer, known, 1))
            try:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                self._lock = _opened(self.path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT)
            except OSError as error:
                raise Refused(
                    f"{self.path.parent}: {error.strerror}; autolimit keeps there what your client "
                    "had, so that it can be restored: make it writable, or set XDG_STATE_HOME."
                ) from None
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._load(name)
        except BlockingIOError:
            self.close()
            raise Refused(
                f"{place} is controlled by another autolimit; stop that one first."
            ) from None
        except BaseException:
            self.close()
            raise

    def keep(self, had: Mapping[str, object], ours: Sequence[int]) -> None:
        """Write what the user had, and our limits that may be in force; on disk when it returns.

        Raises:
            OSError: it cannot be written.
        """
        self.had, self.ours = dict(had), list(ours)
        text = json.dumps(
            {"format": _FORMAT, "had": self.had, "ours": self.ours, "held": self._held}
        )
        handle, scratch = tempfile.mkstemp(prefix=".unfinished-", dir=self.path.parent)
        try:
            with open(handle, "w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            os.replace(scratch, self.path)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(scratch)
            raise

    def hold(self) -> None:
        """The last order had no answer: it may come to the client late, of which a file tells.

        Raises:
            OSError: it cannot be written.
        """
        self._held = time.time()
        if self.had is not None:
            self.keep(self.had, self.ours)

    def forget(self) -> None:
        """The client has what the user wants, and nothing of ours is on its way."""
        self.had, self.ours = None, []
        self.path.unlink(missing_ok=True)

    def close(self) -> None:
        """Let others have the file."""
        if self._lock is not None:
            os.close(self._lock)
        if self._sole is not None:
            self._sole.close()
        self._sole = self._lock = None

    def damaged(self, why: str) -> Damaged:
        """The error for a file that cannot be used."""
        return Damaged(
            f"{self.path}: {why}; it held the upload limit that your client had before autolimit "
            "changed it. Set the limit that you want in the client, then remove this file."
        )

    def _load(self, name: str) -> None:
        for place in folders():
            self.path = place / f"{name}.json"
            try:
                handle = _opened(self.path, os.O_RDONLY | os.O_NONBLOCK)
            except (FileNotFoundError, NotADirectoryError):
                continue
            except OSError as error:
                raise self.damaged((error.strerror or str(error)).lower()) from None
            with open(handle, "rb") as file:
                about = os.fstat(handle)
                if not stat.S_ISREG(about.st_mode):
                    raise self.damaged("it is no file")
                text = file.read(_LONGEST + 1)
            self._understand(text)
            # The last order may not have come to the client yet.
            now = time.time()
            if self.ours and 0 <= now - about.st_mtime < _YOUNG_S:
                self.orders.write(self.ours[-1])
            if self.ours and 0 <= now - self._held < HELD_S:
                self.orders.write(self.ours[-1])
                self.orders.write(self.ours[-1])
            return
        self.path = folders()[0] / f"{name}.json"

    def _understand(self, text: bytes) -> None:
        try:
            found = json.loads(text)
            form, had, ours = found["format"], found["had"], found["ours"]
            held = found.get("held", 0.0)
        except (ValueError, LookupError, TypeError, RecursionError):
            raise self.damaged("it is damaged") from None
        if form != _FORMAT:
            raise self.damaged("it is of another version of autolimit")
        if not (isinstance(had, dict) and isinstance(ours, list) and isinstance(held, int | float)):
            raise self.damaged("it is damaged")
        if len(text) > _LONGEST or any(type(it) is not int for it in ours):
            raise self.damaged("it is damaged")
        self.had, self.ours, self._held = had, ours, held


def _opened(path: Path, flags: int) -> int:
    """Opens a file without following a symbolic link at its end."""
    return os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)


def _sole(name: str) -> socket.socket | None:
    """A name that one process has on this machine, of any user and with any state folder.

    Raises:
        BlockingIOError: another process has it.
    """
    if sys.platform != "linux":
        return None
    held = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    try:
        held.bind(f"\0flashcrowd-autolimit {sha256(name.encode()).hexdigest()}")
    except OSError:
        held.close()
        raise BlockingIOError from None
    return held


class Volatile(Memory):
    """The user's limit of a client in the same process: it ends with us, so nothing is written."""

    def __init__(self) -> None:
        self.had, self.ours, self._held = None, [], 0.0
        self.orders = Orders()

    def keep(self, had: Mapping[str, object], ours: Sequence[int]) -> None:
        """Remember."""
        self.had, self.ours = dict(had), list(ours)

    def forget(self) -> None:
        """It has what its user wants."""
        self.had, self.ours = None, []

    def close(self) -> None:
        """Nothing is held."""

    def damaged(self, why: str) -> Damaged:
        """It is in memory."""
        return Damaged(why)
