"""Fetches in processes that are killed: one for each line `URL PATH CALLS SEED` that comes.

A process kills itself (SIGKILL) before or after, or in the middle of, so many system calls that
change files. That finds each instant, however fast the machine is. Says how the process ended. The
first process has all modules, so that each begins at once.
"""

import os
import random
import signal
import sys
import traceback
from collections.abc import Callable
from typing import Any

from flashcrowd.download import fetch
from flashcrowd.download.part import Part

CHANGES = ("pwrite", "fdatasync", "fsync", "replace", "unlink", "ftruncate", "posix_fallocate")
NOTE_EVERY = 7
"""A note after so many writes."""


def main() -> None:
    for line in sys.stdin:
        url, path, calls, seed = line.split()
        pid = os.fork()
        if not pid:
            status = 1
            try:
                count(int(calls), random.Random(seed))
                fetch(url, path, overwrite=True)
                status = 0
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(status)
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)


def count(calls: int, draw: random.Random) -> None:
    """Has this process end at one of the next system calls."""
    left = calls
    after = draw.random() < 0.5

    def counted(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def counting(*given: Any, **named: Any) -> Any:
            nonlocal left
            left -= 1
            if left == 0 and name == "pwrite" and draw.random() < 0.5:
                fd, data, at = given
                call(fd, data[: draw.randrange(len(data))], at)
            elif left == 0 and after:
                call(*given, **named)
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            # A process that is killed loses nothing that it gave to the system.
            return None if name in ("fdatasync", "fsync") else call(*given, **named)

        return counting

    for name in CHANGES:
        setattr(os, name, counted(name, getattr(os, name)))
    write, writes = Part.write, 0

    def writing(self: Part, at: int, data: bytes | memoryview, server: str = "") -> int:
        nonlocal writes
        writes += 1
        if writes % NOTE_EVERY == 0:
            self.keep()
        return write(self, at, data, server)

    Part.write = writing


if __name__ == "__main__":
    main()
