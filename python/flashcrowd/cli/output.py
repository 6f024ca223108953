"""Where commands print to."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from flashcrowd.base import terminal
from flashcrowd.base.errors import Problem, StudyError

if TYPE_CHECKING:
    from rich.console import Console

WIDE = 10_000
"""Columns of what is no terminal: no table is as wide."""


def console() -> Console:
    """Standard output, as wide as the terminal; as wide as needed where there is none."""
    made = terminal.console()
    if not made.is_terminal and not made.is_jupyter and "COLUMNS" not in os.environ:
        made = terminal.console(width=WIDE)
    return made


def takes_files(folder: Path) -> bool:
    """Whether files can go into `folder`, which may be new; says so if they cannot."""
    if folder.is_dir() or not (folder.exists() or folder.is_symlink()):
        return True
    print(f"{folder}: is no folder; name a folder, one that exists or a new one", file=sys.stderr)
    return False


@contextmanager
def writing(out: Path) -> Iterator[None]:
    """Write the file that `--out` names in this block.

    Raises:
        StudyError: it cannot be written.
    """
    try:
        yield
    except OSError as error:
        wrong = Problem("--out", str(out), "a file that can be written", error.strerror or "")
        raise StudyError([wrong], "command line") from None
