"""Files that a user names: text, and of a plausible size."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from stat import S_ISREG

MOST_BYTES = 1 << 26
"""Longer files are refused, and so is what has no end, as /dev/zero."""


def unread(error: OSError | ValueError) -> str:
    """Why `text_of` did not read a file, in words."""
    if isinstance(error, UnicodeDecodeError):
        line = error.object[: error.start].count(b"\n") + 1
        return f"line {line} is not UTF-8"
    if isinstance(error, OSError):
        return error.strerror or str(error)
    return "its name has a NUL byte"


def text_of(path: Path, *, regular: bool = False) -> str:
    """The text of a file, without the mark with which Windows begins files in UTF-8.

    Args:
        path: the file.
        regular: whether pipes and devices are refused: nothing may ever come from them.

    Raises:
        OSError: it cannot be read, or is longer than `MOST_BYTES`.
        UnicodeDecodeError: it is not UTF-8.
    """
    if regular and not S_ISREG(path.stat().st_mode):
        raise OSError(errno.EINVAL, "it is no file but a folder, a pipe or a device", str(path))
    with path.open("rb") as file:
        content = file.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG), str(path))
    return content.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
