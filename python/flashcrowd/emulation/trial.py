"""Try, in a process of its own, what a lab needs: `python -m flashcrowd.emulation.trial NAME...`.

A network of one host is made and left again. The names are those of congestion controllers, which
are asked for in that host. It says what it has `Tried`.
"""

from __future__ import annotations

import json
import os
import resource
import socket
import sys
from collections.abc import Callable
from dataclasses import dataclass

from flashcrowd import _core
from flashcrowd._core import Plan
from flashcrowd.base.kept import as_json
from flashcrowd.base.messages import Message, encoded
from flashcrowd.emulation.addresses import address
from flashcrowd.emulation.hosts import Hosts
from flashcrowd.emulation.lab import isolate
from flashcrowd.emulation.stack import BASE, settings
from flashcrowd.emulation.tracker_host import NOTHING_BETWEEN
from flashcrowd.plan import types
from flashcrowd.plan.parts import EMPTY


@dataclass(frozen=True)
class Tried(Message):
    """The permissions of a lab on this machine.

    Attributes:
        namespaces: why there are none; None if there are.
        own_user_namespace: whether they needed one.
        tun: why there is no TUN device; None if there is.
        network: why a network of one host cannot be made; None if it can.
        controllers: which of the congestion controllers a host may have.
        descriptors: the most files that a process may open.
        real_time: whether the emulator may come before all others.
    """

    namespaces: str | None
    own_user_namespace: bool
    tun: str | None
    network: str | None
    controllers: dict[str, bool]
    descriptors: int
    real_time: bool


def main() -> None:
    """Try, and tell."""
    before = os.readlink("/proc/self/ns/user")
    real_time = _core.may_have_real_time()
    namespaces = _refused(isolate)
    own = os.readlink("/proc/self/ns/user") != before
    tun, network, controllers = _refused(_core.try_tun), None, {}
    if namespaces is None:
        network = _refused(lambda: controllers.update(_in_a_host(sys.argv[1:])))
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    found = Tried(namespaces, own, tun, network, controllers, most, real_time)
    sys.stdout.buffer.write(encoded(found))


def _refused(tried: Callable[[], object]) -> str | None:
    """Why the system refuses something; None if it does not."""
    try:
        tried()
    except OSError as error:
        return error.strerror or str(error)
    return None


def _in_a_host(names: list[str]) -> dict[str, bool]:
    """Which congestion controllers a host of a network may have."""
    plan = _plan()
    addresses = [address(0)]
    lab = _core.Lab(plan, 0, settings(plan, addresses))
    with Hosts(plan, addresses, lab.namespaces()).inside(0):
        return {name: _has(name) for name in names}


def _has(name: str) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as tried:
        try:
            tried.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, name.encode())
        except OSError:
            return False
    return True


def _plan() -> Plan:
    """A plan of one host."""
    host: types.Plan = {
        **EMPTY,
        "network": {
            "groups": ["all"],
            "hosts": [{"name": "host", "group": 0, "stack": 0, "up": [], "down": []}],
            "links": [],
            "cores": [{"links": [], "conditions": NOTHING_BETWEEN, "draw": None}],
            "core_of": [0],
        },
        "stacks": [json.loads(_core.tcp_profiles())[BASE]],
    }
    return Plan(as_json(host))


if __name__ == "__main__":
    main()
