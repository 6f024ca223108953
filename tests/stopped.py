"""A program that stands still, as one that hangs."""

import os
import signal
import time
from pathlib import Path


def stand_still(pid: int) -> None:
    """Stop a program, and return once none of its threads runs.

    SIGSTOP is given to one thread, which stops the others when its turn comes: on a busy machine
    they may run on, and answer, for long after `kill` has returned.
    """
    os.kill(pid, signal.SIGSTOP)
    while not all(_state(it) in "TZX" for it in Path(f"/proc/{pid}/task").iterdir()):
        time.sleep(0.001)


def _state(thread: Path) -> str:
    try:
        return (thread / "stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return "X"
