"""Where a program runs: an address, and the network namespace that has it."""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from flashcrowd import _core


@dataclass(frozen=True)
class HostSandbox:
    """One host of a network that its caller made.

    Attributes:
        name: the host's name in the plan.
        address: its IPv4 address.
        netns: the file of its network namespace (`setns(2)`), whose loopback interface must be up;
            None for the namespace in which this process is.
    """

    name: str
    address: str
    netns: Path | None = None


@contextlib.contextmanager
def entered(netns: Path | None) -> Iterator[None]:
    """The calling thread is in a network namespace meanwhile.

    Sockets that it opens there stay there, threads and processes that it starts begin there. Only
    this thread moves; it is back afterwards, whatever happens.

    Raises:
        OSError: the namespace is gone, or this process may not enter it.
    """
    if netns is None:
        yield
        return
    # Not by the thread's number: in a namespace of processes /proc may know it by another one.
    back = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    try:
        there = os.open(netns, os.O_RDONLY | os.O_CLOEXEC)
        try:
            _core.enter_namespace(there)
        finally:
            os.close(there)
        try:
            yield
        finally:
            _core.enter_namespace(back)
    finally:
        os.close(back)


def free_port(place: HostSandbox, address: str = "127.0.0.1") -> int:
    """A TCP port that is free now at an address of a place."""
    with entered(place.netns), socket.socket() as probe:
        probe.bind((address, 0))
        return probe.getsockname()[1]
