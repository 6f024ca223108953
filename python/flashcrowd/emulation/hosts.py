"""The hosts of a lab: their places, and how a thread gets into their namespaces."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from flashcrowd import _core
from flashcrowd.emulation.place import Place


class Hosts:
    """The hosts of a plan, each in its namespace."""

    def __init__(
        self, plan: Mapping[str, Any], addresses: list[str], namespaces: list[int]
    ) -> None:
        process = os.readlink("/proc/self")  # as this /proc numbers it, in whatever namespace
        self._files = namespaces
        self._home = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
        self.places = [
            Place(host["name"], address, Path(f"/proc/{process}/fd/{file}"))
            for host, address, file in zip(
                plan["network"]["hosts"], addresses, namespaces, strict=True
            )
        ]

    @contextmanager
    def inside(self, host: int) -> Iterator[Place]:
        """The calling thread in a host's namespace: a socket that is made here stays there."""
        _core.enter_namespace(self._files[host])
        try:
            yield self.places[host]
        finally:
            _core.enter_namespace(self._home)
