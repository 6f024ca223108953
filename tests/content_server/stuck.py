"""A command of which calls of the system do not come back, as on a disk that does not answer.

    python -m tests.content_server.stuck WHEN COMMAND...

From when there is a file WHEN, reads of files (`pread`) do not end, nor does opening a file to
append to it. Only the end of the process ends them, as with a network file system. The file
WHEN.stuck says that there is such a call.
"""

import ctypes
import os
import signal
import sys
import threading
from fcntl import ioctl
from queue import SimpleQueue

from tests.content_server.confined import (
    ALLOW,
    EQUAL,
    LOAD,
    NO_FILTERS,
    NO_NEW_PRIVS,
    RETURN,
    Program,
)
from tests.content_server.confined import Instruction as Step

from flashcrowd.cli import main

CALLS = {"x86_64": (317, 17, 257), "aarch64": (277, 67, 56)}
"""By processor: seccomp, pread64, openat."""
SET_FILTER, NEW_LISTENER, ASK = 1, 1 << 3, 0x7FC00000
RECEIVE, SEND = 0xC0502100, 0xC0182101
GO_ON = 1
BITS, FLAGS_AT = 0x45, 32
"""Whether bits are set; where the third argument is in what a filter looks at."""


class Call(ctypes.Structure):
    """A call that waits for an answer (`struct seccomp_notif`)."""

    _fields_ = (("id", ctypes.c_uint64), ("rest", ctypes.c_uint8 * 72))


class Answer(ctypes.Structure):
    """`struct seccomp_notif_resp`."""

    _fields_ = (
        ("id", ctypes.c_uint64),
        ("value", ctypes.c_int64),
        ("error", ctypes.c_int32),
        ("flags", ctypes.c_uint32),
    )


def answer(listeners: SimpleQueue[int], when: str) -> None:
    """Lets calls go on, until they are to be stuck."""
    # A signal is for the command, which holds some back in its own threads alone.
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    listener = listeners.get()
    while True:
        call = Call()
        ioctl(listener, RECEIVE, call)
        if not os.access(when, os.F_OK):
            ioctl(listener, SEND, Answer(call.id, 0, 0, GO_ON))
        else:
            os.close(os.open(f"{when}.stuck", os.O_CREAT | os.O_WRONLY))


def watch(when: str) -> bool:
    """Whether calls of this thread, and of those that it begins, are watched from now on."""
    if (numbers := CALLS.get(os.uname().machine)) is None:
        return False
    seccomp, reads, opens = numbers
    listeners = SimpleQueue[int]()
    threading.Thread(target=answer, args=(listeners, when), daemon=True).start()
    steps = (Step * 7)(
        Step(LOAD, 0, 0, 0),
        Step(EQUAL, 3, 0, reads),
        Step(EQUAL, 0, 3, opens),
        Step(LOAD, 0, 0, FLAGS_AT),
        Step(BITS, 0, 1, os.O_APPEND),
        Step(RETURN, 0, 0, ASK),
        Step(RETURN, 0, 0, ALLOW),
    )
    program = Program(len(steps), steps)
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(NO_NEW_PRIVS, 1, 0, 0, 0):
        return False
    listener = libc.syscall(seccomp, SET_FILTER, NEW_LISTENER, ctypes.byref(program))
    listeners.put(listener)
    return listener >= 0


if __name__ == "__main__":
    if not watch(sys.argv[1]):
        sys.exit(NO_FILTERS)
    main(sys.argv[2:])
