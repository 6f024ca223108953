"""Try, in a process of its own, what a lab needs: `python -m flashcrowd.emulation.trial NAME...`.

The names are those of congestion controllers. What came of it is written as JSON.
"""

from __future__ import annotations

import json
import os
import resource
import socket
import sys

from flashcrowd import _core
from flashcrowd.emulation.lab import isolate


def main() -> None:
    """Try, and tell."""
    root = os.geteuid() == 0
    found: dict[str, object] = {"root": root, "namespaces": None, "tun": None, "controllers": {}}
    try:
        isolate()
    except OSError as error:
        found["namespaces"] = error.strerror or str(error)
    found["own_user_namespace"] = os.readlink("/proc/self/ns/user") != os.readlink(
        f"/proc/{os.getppid()}/ns/user"
    )
    try:
        _core.try_tun()
    except OSError as error:
        found["tun"] = error.strerror or str(error)
    found["real_time"] = _core.may_have_real_time()
    found["descriptors"] = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    found["controllers"] = {name: _has(name) for name in sys.argv[1:]}
    json.dump(found, sys.stdout)


def _has(name: str) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as tried:
        try:
            tried.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, name.encode())
        except OSError:
            return False
    return True


if __name__ == "__main__":
    main()
