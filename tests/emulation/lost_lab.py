"""A lab that is killed when its first process has begun, and does not yet end with it."""

from __future__ import annotations

import os
import select
import subprocess
import sys

from flashcrowd import _core
from flashcrowd.emulation import lab

_KILLER = "import os, sys; sys.stdin.buffer.read(1); os.kill(int(sys.argv[1]), 9)"
_right = _core.die_with_parent


def _late() -> None:
    if os.getpid() != number:
        # The lab cannot be seen, and so not killed, from within the namespace.
        os.write(told, b"!")
        select.select([own], [], [])
    _right()


if __name__ == "__main__":
    number = os.getpid()
    own = os.pidfd_open(number)
    heard, told = os.pipe()
    command = [sys.executable, "-c", _KILLER, str(number)]
    subprocess.Popen(command, stdin=heard, stdout=subprocess.DEVNULL)
    _core.die_with_parent = _late
    sys.exit(lab.main())
