"""A file that one process holds, until it closes the file or ends."""

from __future__ import annotations

import os

try:
    import fcntl
except ImportError:  # Windows
    import msvcrt

    _BEYOND = 1 << 30
    """Windows keeps others from reading what is locked: one byte is, behind all content."""

    def hold(file: int) -> None:
        """Take an open file, by its descriptor, for this process alone.

        Raises:
            OSError: another process has it.
        """
        here = os.lseek(file, 0, os.SEEK_CUR)
        os.lseek(file, _BEYOND, os.SEEK_SET)
        try:
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)  # pyright: ignore[reportAttributeAccessIssue]
        finally:
            os.lseek(file, here, os.SEEK_SET)

else:

    def hold(file: int) -> None:
        """Take an open file, by its descriptor, for this process alone.

        Raises:
            OSError: another process has it.
        """
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
