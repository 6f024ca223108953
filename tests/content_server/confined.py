"""A command under a filter of system calls, as containers have it, that forbids io_uring."""

import ctypes
import errno
import sys

from flashcrowd.cli import main

NO_FILTERS = 77
"""The exit status where the kernel has no filters."""
IO_URING_SETUP = 425
"""On every processor but Alpha."""
NO_NEW_PRIVS, SECCOMP, FILTER = 38, 22, 2
LOAD, EQUAL, RETURN = 0x20, 0x15, 0x06
ERRNO, ALLOW = 0x00050000, 0x7FFF0000


class Instruction(ctypes.Structure):
    _fields_ = (
        ("code", ctypes.c_uint16),
        ("if_so", ctypes.c_uint8),
        ("else_", ctypes.c_uint8),
        ("value", ctypes.c_uint32),
    )


class Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_uint16), ("begin", ctypes.POINTER(Instruction)))


def confine() -> bool:
    """Forbid rings to this process; whether that is possible."""
    instructions = (Instruction * 4)(
        Instruction(LOAD, 0, 0, 0),
        Instruction(EQUAL, 0, 1, IO_URING_SETUP),
        Instruction(RETURN, 0, 0, ERRNO | errno.EPERM),
        Instruction(RETURN, 0, 0, ALLOW),
    )
    program = Program(len(instructions), instructions)
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    return not prctl(NO_NEW_PRIVS, 1, 0, 0, 0) and not prctl(
        SECCOMP, FILTER, ctypes.byref(program), 0, 0
    )


if __name__ == "__main__":
    if not confine():
        sys.exit(NO_FILTERS)
    main(sys.argv[1:])
