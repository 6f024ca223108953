"""Places for clients, without the emulation: addresses of loopback, or namespaces on a bridge."""

from __future__ import annotations

import contextlib
import ctypes
import os
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.engines.plans import made

from flashcrowd.base.rows import Rows, of_columns
from flashcrowd.clients import PROGRAMS, HostSandbox, Swarm, kernel, opentracker, tables
from flashcrowd.clients.host_sandbox import entered
from flashcrowd.clients.peer import Peer
from flashcrowd.plan.lower import lower
from flashcrowd.scenario import Scenario

CLONE_NEWNET = 0x40000000  # sched.h
_libc = ctypes.CDLL(None, use_errno=True)


def plan(
    *populations: dict[str, Any], size: str = "2 MB", piece: str = "64 KiB", **more: Any
) -> Any:
    """The plan of a swarm with these populations, one group of hosts each; the tracker comes last.

    A population says how many `hosts` it has, and otherwise what one of a study says.
    """
    groups: dict[str, Any] = {}
    tables: dict[str, Any] = {}
    for number, population in enumerate(populations):
        name = population.get("name", f"p{number}")
        groups[name] = {"hosts": population.get("hosts", 1)}
        rest = {key: it for key, it in population.items() if key not in ("name", "hosts")}
        tables[name] = {"group": name, "profile": "modern", "transport": "inherit", **rest}
    groups["tracker"] = {"hosts": 1}
    swarm = {
        "kind": "swarm",
        "size": size,
        "piece": piece,
        "tracker": {"host": "tracker", **more.pop("tracker", {})},
        "populations": tables,
        **more.pop("swarm", {}),
    }
    document = {
        "title": "T",
        "network": {"groups": groups},
        "workloads": {"swarm": swarm},
        **more,
    }
    return lower(Scenario.model_validate(document)).data


def rows(swarm: Swarm) -> Rows:
    """The rows of the tables of a swarm that is over."""
    return {**of_columns(swarm.rules.tables(swarm.end_s, swarm.timeouts)), **tables.rows(swarm)}


def loopback(count: int) -> list[HostSandbox]:
    """Places of this process's own namespace."""
    if not kernel.has_loopback(HostSandbox("here", "127.0.0.1")):
        pytest.skip("the loopback interface is down")
    block = os.getpid() % 200 + 20
    return [HostSandbox(f"h{n}", f"127.{block}.{n // 200}.{n % 200 + 1}") for n in range(count)]


def needs(*programs: str) -> None:
    """Skip where a program is not installed."""
    for name in programs:
        if PROGRAMS[name].found() is None:
            pytest.skip(f"{name} is not installed: {PROGRAMS[name].remedy}")


def needs_opentracker() -> None:
    """Skip where opentracker cannot run."""
    reason = opentracker.why_not()
    if reason is not None:
        pytest.skip(reason)


def _needs_root() -> None:
    if os.geteuid() != 0:
        pytest.skip("network namespaces made by `ip` need root")
    if shutil.which("ip") is None:
        pytest.skip("ip is not installed: apt install iproute2")


class Namespace:
    """A network namespace that lives as long as this object is open."""

    def __init__(self) -> None:
        def unshare() -> None:
            if _libc.unshare(CLONE_NEWNET) == 0:
                self._descriptor = os.open("/proc/thread-self/ns/net", os.O_RDONLY)

        self._descriptor = -1
        thread = threading.Thread(target=unshare)
        thread.start()
        thread.join()
        if self._descriptor < 0:
            pytest.skip("this kernel or container makes no network namespace")
        self.path = Path(f"/proc/{os.getpid()}/fd/{self._descriptor}")

    def ip(self, *arguments: str) -> None:
        """Run `ip` in it."""
        with entered(self.path):
            subprocess.run(["ip", *arguments], check=True, capture_output=True)

    def close(self) -> None:
        """Let it go."""
        os.close(self._descriptor)


@contextlib.contextmanager
def bridged(count: int) -> Iterator[list[HostSandbox]]:
    """Places in namespaces of their own, joined by veth pairs to a bridge in one more."""
    _needs_root()
    made: list[Namespace] = []
    try:
        switch = Namespace()
        made.append(switch)
        switch.ip("link", "add", "bridge", "type", "bridge")
        switch.ip("link", "set", "bridge", "up")
        places: list[HostSandbox] = []
        for number in range(count):
            host = Namespace()
            made.append(host)
            host.ip("link", "set", "lo", "up")
            address = f"198.18.0.{number + 1}"
            port = f"port{number}"
            pair = ("type", "veth", "peer", "name", "eth0", "netns", str(host.path))
            switch.ip("link", "add", port, *pair)
            switch.ip("link", "set", port, "master", "bridge", "up")
            host.ip("address", "add", f"{address}/15", "dev", "eth0")
            host.ip("link", "set", "eth0", "up")
            places.append(HostSandbox(f"h{number}", address, host.path))
        yield places
    finally:
        for namespace in made:
            namespace.close()


def leechers(swarm: Swarm) -> list[Peer]:
    """Every leecher of a swarm, planned ones and replacements."""
    return [peer for peer in swarm.peers if peer.is_leecher]


def completed(swarm: Swarm) -> int:
    """How many leechers have the file."""
    return sum(peer.completed is not None for peer in leechers(swarm))


def pids(swarm: Swarm) -> list[int]:
    """The processes that play: the tracker if it is one, and clients."""
    players = [swarm.tracker, *(peer.client for peer in swarm.peers if not peer.closed)]
    return [it.pid for it in players if it is not None and it.pid is not None]


def go_on(swarm: Swarm, seconds: float) -> None:
    """Play for a while."""
    end = swarm.now + seconds
    while swarm.now < end:
        time.sleep(max(swarm.step() - time.monotonic(), 0.0))


def until(swarm: Swarm, it_is_so: Callable[[], bool], *, most_s: float = 60.0) -> None:
    """Play until something is so."""
    end = swarm.now + most_s
    while not it_is_so():
        assert swarm.now < end, [vars(peer.progress) for peer in swarm.peers]
        time.sleep(max(swarm.step() - time.monotonic(), 0.0))


def play(
    plan: Any,
    places: Sequence[HostSandbox],
    folder: Path,
    *,
    most_s: float = 60.0,
) -> Swarm:
    """A swarm from its preparation to its end; everything is closed."""
    swarm = Swarm(made(plan), 0, 1, places, folder)
    try:
        swarm.prepare()
        swarm.begin(time.monotonic())
        while not swarm.is_done and not swarm.outcome:
            assert swarm.now < most_s, [vars(peer.progress) for peer in swarm.peers]
            time.sleep(max(swarm.step() - time.monotonic(), 0.0))
        swarm.finish()
    finally:
        swarm.close()
    return swarm
