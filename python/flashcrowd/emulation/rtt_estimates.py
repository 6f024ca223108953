"""TCP's round-trip time estimates in the populations of a swarm, from the hosts' kernels.

A program does not say when it sends. A connection is looked at once a second, and its estimate
counts as often as it sent segments with payload since the last look.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

from flashcrowd.base.rows import Row
from flashcrowd.clients import Swarm
from flashcrowd.emulation.hosts import Hosts
from flashcrowd.emulation.socket_diag import SocketDiag

EVERY_S = 1.0
"""How often each host is asked."""


@dataclass
class _Sum:
    samples: int = 0
    sum_s: float = 0.0
    min_s: float = float("inf")
    max_s: float = 0.0

    def add(self, estimate_s: float, sends: int) -> None:
        self.samples += sends
        self.sum_s += estimate_s * sends
        self.min_s = min(self.min_s, estimate_s)
        self.max_s = max(self.max_s, estimate_s)


class RttEstimates:
    """Of one swarm. Its hosts are asked in turns, so that nothing else waits long for that."""

    def __init__(self, swarm: Swarm, hosts: Hosts) -> None:
        """Make ready.

        Raises:
            OSError: what the kernel refused.
        """
        self._swarm = swarm
        players = {peer.host: peer.population for peer in swarm.peers if peer.host in hosts.own}
        self._asked = [
            (population, SocketDiag(hosts.places[host]))
            for host, population in sorted(players.items())
        ]
        self._turns = itertools.cycle(self._asked)
        self._sums = [_Sum() for _ in swarm.spec["populations"]]
        self._sent: dict[tuple[int, bytes], int] = {}

    @property
    def turn_s(self) -> float:
        """The time between two turns."""
        return EVERY_S / max(len(self._asked), 1)

    def turn(self) -> None:
        """Ask the next host.

        Raises:
            OSError: what the kernel refused.
        """
        if not self._asked:
            return
        population, diag = next(self._turns)
        for connection in diag.connections():
            if self._swarm.port not in (connection.port, connection.remote_port):
                continue  # of the tracker, or of another workload
            key = (id(diag), connection.cookie)
            sends = connection.data_segments - self._sent.get(key, 0)
            self._sent[key] = connection.data_segments
            if connection.srtt_s is not None and sends > 0:
                self._sums[population].add(connection.srtt_s, sends)

    def rows(self) -> Iterator[Row]:
        """Those of the table `rtts`."""
        for spec, found in zip(self._swarm.spec["populations"], self._sums, strict=True):
            if found.samples:
                yield {
                    "swarm": self._swarm.spec["name"],
                    "population": spec["name"],
                    "samples": found.samples,
                    "mean_s": found.sum_s / found.samples,
                    "min_s": found.min_s,
                    "max_s": found.max_s,
                }

    def close(self) -> None:
        """End it."""
        for _, diag in self._asked:
            diag.close()
