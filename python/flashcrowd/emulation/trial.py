"""Try, in a process of its own, what a lab needs: `python -m flashcrowd.emulation.trial NAME...`.

A network of one host is made and left again. The names are those of congestion controllers, which
are asked for in that host. What came of it is written as JSON.
"""

from __future__ import annotations

import json
import os
import resource
import socket
import sys
from typing import Any

from flashcrowd import _core
from flashcrowd.emulation.addresses import address
from flashcrowd.emulation.hosts import Hosts
from flashcrowd.emulation.lab import isolate
from flashcrowd.emulation.stack import BASE, settings
from flashcrowd.emulation.tracker_host import NOTHING_BETWEEN
from flashcrowd.plan.parts import EMPTY
from flashcrowd.plan.types import Plan


def main() -> None:
    """Try, and tell."""
    found: dict[str, Any] = {"namespaces": None, "tun": None, "network": None, "controllers": {}}
    found["descriptors"] = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    found["real_time"] = _core.may_have_real_time()
    before = os.readlink("/proc/self/ns/user")
    try:
        isolate()
    except OSError as error:
        found["namespaces"] = error.strerror or str(error)
    found["own_user_namespace"] = os.readlink("/proc/self/ns/user") != before
    try:
        _core.try_tun()
    except OSError as error:
        found["tun"] = error.strerror or str(error)
    if found["namespaces"] is None:
        try:
            found["controllers"] = _in_a_host(sys.argv[1:])
        except OSError as error:
            found["network"] = error.strerror or str(error)
    json.dump(found, sys.stdout)


def _in_a_host(names: list[str]) -> dict[str, bool]:
    """Which congestion controllers a host of a network may have."""
    plan = _plan()
    addresses = [address(0)]
    lab = _core.Lab(_core.Plan(json.dumps(plan)), 0, settings(plan, addresses))
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
    return {
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


if __name__ == "__main__":
    main()
