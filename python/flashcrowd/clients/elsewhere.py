"""Files that programs keep outside of their peer's folder, which are to go with it."""

from __future__ import annotations

import contextlib
import os
import re
from pathlib import Path

from flashcrowd.base import folder_files

_LIST = "elsewhere"
_MOST_BYTES = 1 << 16
_KNOWN = re.compile(r"/tmp/tr_session_id_[A-Za-z0-9]{1,64}")
"""The paths that are ever noted: the locks of Transmission's sessions (libtransmission,
session-id.c). Whatever else a list names stays."""


def note(folder: Path, path: Path) -> None:
    """A program whose folder this is has made a file, which stays if the program is killed.

    A path that is none of the known ones is not noted: nothing would remove it.
    """
    if _KNOWN.fullmatch(str(path)):
        with (folder / _LIST).open("a") as lines:
            lines.write(f"{path}\n")


def remove(folder: Path) -> None:
    """Remove what was noted in a folder and those below it; its programs have ended."""
    with contextlib.suppress(FileNotFoundError):
        opened = folder_files.directory(folder)
        try:
            remove_in(opened)
        finally:
            os.close(opened)


def remove_in(folder: int) -> None:
    """As `remove`, of a folder that is open."""
    for _, _, files, below in os.fwalk(".", dir_fd=folder):
        if _LIST in files:
            with contextlib.suppress(OSError, UnicodeDecodeError):
                lines = folder_files.read_in(below, _LIST, _MOST_BYTES).decode().splitlines()
                for path in filter(_KNOWN.fullmatch, lines):
                    _unlink(path)


def _unlink(path: str) -> None:
    """Remove a file if it is this user's; a link itself, never what it leads to."""
    with contextlib.suppress(OSError):
        if os.lstat(path).st_uid == os.geteuid():
            os.unlink(path)
