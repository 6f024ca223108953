"""What processes there are, and which network namespaces they hold: what a run may leave behind."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import ModuleType

import pytest
from tests.late import PATIENCE_S

from flashcrowd.emulation import launch
from flashcrowd.emulation.launch import LAB

MARK = "FLASHCROWD_TESTED"
"""A variable in the environment of a run, and so of all that it starts, whosever child it is."""


def parents() -> dict[int, int]:
    """All processes that have not ended, each with its parent."""
    found = {}
    for name in os.listdir("/proc"):
        if name.isdecimal():
            with contextlib.suppress(OSError):  # it has just ended
                # Behind its name, in which anything may be: its state and its parent.
                status = Path(f"/proc/{name}/stat").read_bytes().rpartition(b")")[2].split()
                if status[0] != b"Z":
                    found[int(name)] = int(status[1])
    return found


def words_of(pid: int) -> str:
    """The command line of a process; empty if it has ended."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    return ""


def below(root: int) -> list[int]:
    """A process's children, their children, and so on."""
    all_of_them = parents()
    family = [root]
    for pid in family:
        family += [child for child, parent in all_of_them.items() if parent == pid]
    return family[1:]


def labs(root: int) -> list[int]:
    """Of those, the labs, and behind them their first processes: who has a run's network."""
    return [pid for pid in below(root) if LAB in words_of(pid)]


def of_run(out: Path) -> list[int]:
    """All processes that a run with this folder started, and itself, while there are any."""
    wanted = f"{MARK}={out}".encode()
    found = []
    for pid in parents():
        with contextlib.suppress(OSError):
            if wanted in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"):
                found.append(pid)
    return found


def settings() -> dict[str, str]:
    """What of this machine a run could change: settings of the network, mounts, interfaces, names.

    Without what moves by itself, or by what other tests do meanwhile.
    """
    moves = {"tcp_fastopen_key", "tcp_mem", "nf_conntrack_count", *GROW}
    found = {}
    for root in ("net", "user"):
        for path in Path("/proc/sys", root).rglob("*"):
            if path.name not in moves and path.is_file() and os.access(path, os.R_OK):
                with contextlib.suppress(OSError):
                    found[str(path)] = path.read_text()
    mounts = Path("/proc/mounts").read_text().splitlines()
    # The comparison with the kernel's TCP may go on beside this, with named namespaces.
    found["mounts"] = "\n".join(line for line in mounts if " /run/netns" not in line)
    found["interfaces"] = " ".join(sorted(os.listdir("/sys/class/net")))
    return found


GROW = ("tcp_available_congestion_control", "tcp_allowed_congestion_control")
"""The kernel loads the module of a controller for whoever asks for it, and keeps it."""


def controllers() -> dict[str, set[str]]:
    """Which congestion controllers this kernel has loaded, and which everybody may ask for."""
    return {name: {*Path("/proc/sys/net/ipv4", name).read_text().split()} for name in GROW}


def _links(pid: int) -> Iterator[tuple[str, Path]]:
    """The network namespaces that a process is in or holds as open files, and where they stand."""
    for link in [Path(f"/proc/{pid}/ns/net"), *Path(f"/proc/{pid}/fd").glob("*")]:
        with contextlib.suppress(OSError):
            name = os.readlink(link)
            if name.startswith("net:"):
                yield name, link


def namespaces(pids: Iterable[int]) -> set[str]:
    """The network namespaces that processes are in, or hold as open files."""
    return {name for pid in pids for name, _ in _links(pid)}


@contextmanager
def held(pids: Iterable[int]) -> Iterator[set[str]]:
    """The namespaces of processes, without our own, and open meanwhile.

    The kernel uses their numbers again: another test's would be taken for what was left.
    """
    own, names = namespaces([os.getpid()]), set()
    with ExitStack() as stack:
        for pid in pids:
            for name, link in _links(pid):
                if name in own | names:
                    continue
                with contextlib.suppress(OSError):
                    descriptor = os.open(link, os.O_RDONLY | os.O_CLOEXEC)
                    stack.callback(os.close, descriptor)
                    names.add(os.readlink(f"/proc/self/fd/{descriptor}"))
        yield names


@contextmanager
def held_until_it_ends(run: subprocess.Popen[bytes], out: Path) -> Iterator[set[str]]:
    """The same of all processes that a run starts, one after the other, until it ends."""
    names: set[str] = set()
    end = time.monotonic() + PATIENCE_S
    with ExitStack() as stack:
        while run.poll() is None:
            assert time.monotonic() < end, "the run does not end"
            names |= stack.enter_context(held(of_run(out)))
            time.sleep(0.1)
        yield names


def nobody_has(names: set[str]) -> bool:
    """Whether no process but this one is in one of these namespaces, or holds it."""
    return not names & namespaces(parents().keys() - {os.getpid()})


def wait_for(what: Callable[[], bool], why: str) -> None:
    end = time.monotonic() + PATIENCE_S
    while not what():
        assert time.monotonic() < end, why
        time.sleep(0.05)


def nothing_is_left_after_ctrl_c(run: subprocess.Popen[bytes]) -> None:
    """See that a run ends as a shell expects it, with all its processes and namespaces."""
    family = below(run.pid)
    with held(family) as made:
        run.send_signal(signal.SIGINT)
        assert run.wait(PATIENCE_S) == 130
        wait_for(lambda: not {*family} & parents().keys(), "a process is left")
        assert nobody_has(made)


@contextmanager
def started(study: Path, out: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A run in a process of its own, as soon as its network is there; ended with the block."""
    command = [sys.executable, "-m", "flashcrowd", "run", str(study), "--engine", "emulation"]
    with subprocess.Popen(
        [*command, "--out", str(out), "--quiet"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, MARK: str(out)},
    ) as run:
        own = namespaces([os.getpid()])
        try:
            wait_for(lambda: len(namespaces(labs(run.pid)) - own) >= 2, "no namespaces came")
            yield run
        finally:
            run.kill()


def play_in(lab: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have runs played by a lab of the tests in place of the product's."""
    root = Path(__file__).parents[2]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(root), *sys.path]))
    monkeypatch.setattr(launch, "LAB", lab.__name__)
