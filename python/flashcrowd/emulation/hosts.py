"""The hosts of a lab: their places, and how a thread gets into their namespaces."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from flashcrowd._core import Plan
from flashcrowd.clients.host_sandbox import HostSandbox, entered

ELSEWHERE = Path("/played/on/another/node")
"""Stands for the namespace of a host that another node plays: it cannot be entered."""


class Hosts:
    """The hosts of a plan, each in its namespace.

    Attributes:
        places: where programs of each host run. A namespace is there as long as the lab lives; a
            process that enters it is in the lab's user namespace already.
        own: the hosts that are played here, by number.
    """

    def __init__(
        self,
        plan: Plan,
        addresses: list[str],
        namespaces: list[int],
        own: Sequence[int] | None = None,
    ) -> None:
        """The hosts of a lab.

        Args:
            plan: the plan.
            addresses: of all of its hosts.
            namespaces: files of the namespaces of those that are played here.
            own: their numbers; all if not given.
        """
        process = os.readlink("/proc/self")  # as this /proc numbers it, in whatever namespace
        played = range(len(addresses)) if own is None else own
        files = dict(zip(played, namespaces, strict=True))
        self.own = frozenset(files)
        self.places = [
            HostSandbox(
                host["name"],
                address,
                Path(f"/proc/{process}/fd/{files[number]}") if number in files else ELSEWHERE,
            )
            for number, (host, address) in enumerate(
                zip(plan.network["hosts"], addresses, strict=True)
            )
        ]

    @contextmanager
    def inside(self, host: int) -> Iterator[HostSandbox]:
        """The calling thread in a host's namespace: a socket that is made here stays there."""
        with entered(self.places[host].netns):
            yield self.places[host]
