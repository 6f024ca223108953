"""Files that programs keep outside of their peer's folder, which are to go with it."""

from __future__ import annotations

import contextlib
from pathlib import Path

_LIST = "elsewhere"


def note(folder: Path, path: Path) -> None:
    """A program whose folder this is has made a file, which stays if the program is killed."""
    with (folder / _LIST).open("a") as lines:
        lines.write(f"{path}\n")


def remove(folder: Path) -> None:
    """Remove what was noted in a folder and those below it; its programs have ended."""
    for found in folder.rglob(_LIST):
        with contextlib.suppress(OSError):
            for line in found.read_text().splitlines():
                Path(line).unlink(missing_ok=True)
