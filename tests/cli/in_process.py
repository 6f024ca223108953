"""`flashcrowd` in this process: for tests that read what it prints, its status and its files.

What signals, pipes, terminals and exits do is asked of a process of its own; to start one takes
longer than most commands.
"""

from __future__ import annotations

import contextlib
import io
from pathlib import Path

import pytest

from flashcrowd.cli import main


def flashcrowd(folder: Path, *words: object, columns: int = 200) -> tuple[int, str, str]:
    """Exit status, output and errors of a command in a folder, where lines are so long."""
    out, error = io.StringIO(), io.StringIO()
    with (
        contextlib.chdir(folder),
        pytest.MonkeyPatch.context() as patch,
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(error),
    ):
        patch.setenv("COLUMNS", str(columns))
        with pytest.raises(SystemExit) as left:
            main([*map(str, words)])
    return int(left.value.code or 0), out.getvalue(), error.getvalue()
