"""TCP's round-trip time estimates in the populations of a swarm, from the hosts' kernels.

A program does not say when it sends. A connection is looked at once a second, and its estimate
counts as often as it sent segments with payload since the last look.
"""

from __future__ import annotations

import itertools

from flashcrowd.clients import Swarm
from flashcrowd.emulation.hosts import Hosts
from flashcrowd.emulation.socket_diag import SocketDiag

EVERY_S = 1.0
"""How often each host is asked."""


class RttEstimates:
    """Of one swarm. Its hosts are asked in turns, so that nothing else waits long for that."""

    def __init__(self, swarm: Swarm, workload: int, hosts: Hosts) -> None:
        """Make ready.

        Raises:
            OSError: what the kernel refused.
        """
        self._swarm, self._workload = swarm, workload
        players = {peer.host: peer.population for peer in swarm.peers if peer.host in hosts.own}
        self._asked = [
            (population, SocketDiag(hosts.places[host]))
            for host, population in sorted(players.items())
        ]
        self._turns = itertools.cycle(self._asked)
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
                rules = self._swarm.rules
                rules.estimate(self._workload, population, connection.srtt_s, sends)

    def close(self) -> None:
        """End it."""
        for _, diag in self._asked:
            diag.close()
