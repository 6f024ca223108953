"""What the user had, on disk before anything is changed.

A process that is killed cannot restore it; the next one can.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from flashcrowd.autolimit.client import Refused

_HERE = re.compile(r"://(127\.0\.0\.1|\[::1\])(?=[:/]|$)")
"""This machine, by other names than `localhost`. Names of others are not looked up: what they stand
for may change until the file is needed again."""


def folder() -> Path:
    """Where state is kept: STATE_DIRECTORY (systemd), else XDG_STATE_HOME, else below home."""
    if given := os.environ.get("STATE_DIRECTORY"):
        return Path(given.split(":")[0])
    base = os.environ.get("XDG_STATE_HOME")
    return (Path(base) if base else Path.home() / ".local" / "state") / "flashcrowd" / "autolimit"


class Memory:
    """The state file of one client, held by one process at a time.

    Attributes:
        had: the client's own words for what the user had; None if nothing was changed.
        ours: limits in bytes per second of which one may stand in the client because of us.
    """

    def __init__(self, place: str) -> None:
        """Takes the file of a client.

        Raises:
            Refused: another process has it, or it cannot be written.
        """
        name = re.sub(r"[^a-z0-9.]+", "-", _HERE.sub("://localhost", place.lower()))
        self.path = folder() / f"{name}.json"
        self.had: dict[str, Any] | None = None
        self.ours: list[int] = []
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._lock = open(self.path.with_suffix(".lock"), "w")  # noqa: SIM115
        except OSError as error:
            raise Refused(
                f"{self.path.parent}: {error.strerror}; autolimit keeps there what your client "
                "had, so that it can be restored: make it writable, or set XDG_STATE_HOME."
            ) from None
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._lock.close()
            raise Refused(
                f"{place} is controlled by another autolimit; stop that one first."
            ) from None
        self._load()

    def keep(self, had: Mapping[str, Any], ours: list[int]) -> None:
        """Write what the user had, and what may stand there because of us; on disk when it returns.

        Raises:
            OSError: it cannot be written.
        """
        self.had, self.ours = dict(had), list(ours)
        text = json.dumps({"format": 1, "had": self.had, "ours": self.ours})
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

    def forget(self) -> None:
        """The client has what the user wants."""
        self.had, self.ours = None, []
        self.path.unlink(missing_ok=True)

    def close(self) -> None:
        """Let others have the file."""
        self._lock.close()

    def _load(self) -> None:
        try:
            found = json.loads(self.path.read_text(encoding="utf-8"))
            had, ours = found["had"], found["ours"]
        except (OSError, ValueError, LookupError, TypeError):
            return
        if isinstance(had, dict) and isinstance(ours, list) and all(type(o) is int for o in ours):
            self.had, self.ours = had, ours


class Volatile(Memory):
    """What a client of the same process had: it ends with us, so nothing is written."""

    def __init__(self) -> None:
        self.had, self.ours = None, []

    def keep(self, had: Mapping[str, Any], ours: list[int]) -> None:
        """Remember."""
        self.had, self.ours = dict(had), list(ours)

    def forget(self) -> None:
        """It has what its user wants."""
        self.had, self.ours = None, []

    def close(self) -> None:
        """Nothing is held."""
