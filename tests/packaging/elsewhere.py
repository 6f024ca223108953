"""Commands on another system, simulated: `python elsewhere.py win32|darwin WORD ... [+ WORD ...]`.

What that system's Python does not have is taken away once the libraries are loaded, which have
wheels of their own there; then the command runs as it is. `modules` in the place of the words
imports every module of the package and prints those that cannot be.
"""

import importlib
import os
import pkgutil
import re
import select
import signal
import socket
import sys
from itertools import groupby
from pathlib import Path
from types import ModuleType, SimpleNamespace

import networkx  # noqa: F401
import pydantic.types  # noqa: F401
import rich.console  # noqa: F401

LIBRARIES = "jinja2 matplotlib.pyplot networkx pyarrow.parquet scipy.stats"
MORE = {
    "modules": f"{LIBRARIES} distributed",
    "run": "networkx pyarrow.parquet scipy.stats",
    "report": LIBRARIES,
    "traps": LIBRARIES,
}
"""Libraries of a command: loaded before, as this system has them."""

_LIB = Path(__file__).parents[2] / "crates/python/src/lib.rs"
_ONLY_LINUX = re.compile(
    r'target_os = "linux"\)\]\s+#\[pymodule_export\]\s+use [\w:]+::(\w+|\{[^}]*\})'
)
EXTENSION = " ".join(re.findall(r"\w+", " ".join(_ONLY_LINUX.findall(_LIB.read_text()))))
"""Of the extension module, on Linux alone."""

ABSENT = {
    "darwin": {
        os: "sched_getaffinity sched_setscheduler SCHED_RR posix_fallocate O_DIRECT memfd_create",
        socket: "AF_NETLINK AF_PACKET SO_MARK TCP_INFO TCP_CONGESTION TCP_USER_TIMEOUT",
        select: "epoll",
    },
    "win32": {
        os: """sched_getaffinity sched_setscheduler SCHED_RR posix_fallocate O_DIRECT memfd_create
            O_CLOEXEC O_NOFOLLOW O_DIRECTORY O_NONBLOCK SEEK_HOLE SEEK_DATA fork fwalk fchmod fchown
            geteuid getuid getegid getgid getpgid killpg setsid uname sysconf nice getloadavg pread
            preadv pwrite pwritev statvfs mkfifo wait4 waitid getrandom""",
        socket: """AF_NETLINK AF_PACKET AF_UNIX SO_MARK SO_REUSEPORT TCP_INFO TCP_CONGESTION
            TCP_USER_TIMEOUT MSG_DONTWAIT send_fds recv_fds""",
        select: "epoll poll",
        signal: """SIGHUP SIGKILL SIGALRM SIGUSR1 SIGUSR2 SIGCHLD SIGPIPE SIGQUIT SIGBUS SIGXCPU
            SIGXFSZ pthread_sigmask SIG_BLOCK SIG_UNBLOCK SIG_SETMASK setitimer alarm""",
    },
}
"""Names that the standard library has not there."""

MODULES = {
    "darwin": "",
    "win32": "fcntl resource termios pwd grp pty tty curses readline syslog",
}
"""Modules that are not there."""


def become(system: str) -> None:
    """Make this interpreter look like another system's, as far as our code asks."""
    from flashcrowd import _core

    for module, names in {**ABSENT[system], _core: EXTENSION}.items():
        for name in names.split():
            if hasattr(module, name):
                delattr(module, name)
    for name in MODULES[system].split():
        sys.modules[name] = None  # type: ignore[assignment]
    if system == "win32":
        os.supports_dir_fd.clear()
        os.O_BINARY = 0  # type: ignore[attr-defined]
        lock = SimpleNamespace(LK_NBLCK=2, locking=lambda *_: None)
        sys.modules["msvcrt"] = lock  # type: ignore[assignment]
    sys.platform = system


def unable() -> list[str]:
    """The modules of the package that cannot be imported."""
    import flashcrowd

    found: list[str] = []

    def walk(package: ModuleType) -> None:
        for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
            try:
                loaded = importlib.import_module(module.name)
            except Exception as error:
                found.append(f"{module.name}: {error}")
                continue
            if module.ispkg:
                walk(loaded)

    walk(flashcrowd)
    return found


if __name__ == "__main__":
    system, *rest = sys.argv[1:]
    commands = [list(words) for plus, words in groupby(rest, "+".__eq__) if not plus]
    for name in " ".join(MORE.get(words[0], "") for words in commands).split():
        importlib.import_module(name)
    become(system)
    if commands == [["modules"]]:
        print("\n".join(unable()))
    else:
        from flashcrowd.cli import main

        for words in commands:
            try:
                main(words)
            except SystemExit as ended:
                if ended.code:
                    raise
