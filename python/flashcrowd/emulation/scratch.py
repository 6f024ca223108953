"""A folder for what the programs of one run write, gone when the run is."""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from flashcrowd.base import folder_files
from flashcrowd.clients import elsewhere

PREFIX = "flashcrowd-lab-"
_PATIENCE_S = 5.0
"""Programs that were killed a moment ago may still be ending."""


@contextmanager
def scratch() -> Iterator[Path]:
    """A new folder where temporary files are kept, removed at the end.

    It is locked meanwhile (`flock(2)`). The folder of a killed process has no lock: the next start
    removes it.

    Raises:
        OSError: it cannot be made.
    """
    _sweep()
    folder, lock = _made()
    try:
        yield folder
    finally:
        end = time.monotonic() + _PATIENCE_S
        elsewhere.remove(folder)
        while folder.exists() and time.monotonic() < end:
            shutil.rmtree(folder, ignore_errors=True)
            if folder.exists():
                time.sleep(0.05)
        os.close(lock)


def _made() -> tuple[Path, int]:
    while True:
        folder = Path(tempfile.mkdtemp(prefix=PREFIX))
        try:
            lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except FileNotFoundError:
            continue  # another process has swept it away in this moment
        fcntl.flock(lock, fcntl.LOCK_EX)
        if folder.exists():  # not swept away before it was locked
            return folder, lock
        os.close(lock)


def _sweep() -> None:
    """Remove the folders whose makers are gone.

    Any user may make a folder of such a name where temporary files are. Only one that this user
    made, and that no other could write into, is touched.
    """
    above = folder_files.directory(tempfile.gettempdir())
    try:
        for name in os.listdir(above):
            if name.startswith(PREFIX):
                with suppress(OSError):  # another user's, in use, or just gone
                    _sweep_one(name, above)
    finally:
        os.close(above)


def _sweep_one(name: str, above: int) -> None:
    lock = folder_files.directory(name, above)
    try:
        found = os.fstat(lock)
        if found.st_uid != os.geteuid() or stat.S_IMODE(found.st_mode) & 0o077:
            return
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        elsewhere.remove_in(lock)
        folder_files.clear(lock)
        os.rmdir(name, dir_fd=above)
    finally:
        os.close(lock)


def room() -> int:
    """Bytes that are free where such folders are made."""
    return shutil.disk_usage(tempfile.gettempdir()).free
