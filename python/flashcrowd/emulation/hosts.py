"""The hosts of a lab: their places, and how a thread gets into their namespaces."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from flashcrowd.clients.place import Place, entered


class Hosts:
    """The hosts of a plan, each in its namespace.

    Attributes:
        places: where programs of each host run. A namespace is there as long as the lab lives;
            whoever enters it is in the lab's user namespace already.
    """

    def __init__(
        self, plan: Mapping[str, Any], addresses: list[str], namespaces: list[int]
    ) -> None:
        process = os.readlink("/proc/self")  # as this /proc numbers it, in whatever namespace
        self.places = [
            Place(host["name"], address, Path(f"/proc/{process}/fd/{file}"))
            for host, address, file in zip(
                plan["network"]["hosts"], addresses, namespaces, strict=True
            )
        ]

    @contextmanager
    def inside(self, host: int) -> Iterator[Place]:
        """The calling thread in a host's namespace: a socket that is made here stays there."""
        with entered(self.places[host].netns):
            yield self.places[host]
