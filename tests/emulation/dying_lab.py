"""A lab that dies as an environment says, in the middle of a line."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import time
from collections.abc import Callable

from flashcrowd.emulation import lab
from flashcrowd.emulation.stage import Stage
from flashcrowd.emulation.timetable import Timetable

HOW = "FLASHCROWD_TESTED_END"
LAST_WORDS = "last words of the lab"
_waitpid = os.waitpid
_ready, _is_ready = os.pipe()


def _play(
    self: Stage, table: Timetable, tell: Callable[[float], None], failed: Callable[[], bool]
) -> tuple[str, str]:
    os.write(1, b'printed by a library\n{"Progress": {"part": 0.')
    os.write(2, LAST_WORDS.encode() + b"\n")
    how = os.environ[HOW]
    if how.isdecimal():
        os._exit(int(how))
    if how == "SIGSEGV":
        ctypes.string_at(0)
    os.write(_is_ready, b"\n")
    time.sleep(60)
    raise AssertionError("it lives")


def _kill(pid: int, options: int) -> tuple[int, int]:
    """The first process of a namespace gets no SIGKILL from within."""
    if os.environ[HOW] == "SIGKILL":
        os.read(_ready, 1)
        os.kill(pid, signal.SIGKILL)
    return _waitpid(pid, options)


if __name__ == "__main__":
    Stage.play = _play
    os.waitpid = _kill
    sys.exit(lab.main())
