"""A lab in which somebody else has a client's port, in the runs whose seed an environment names."""

from __future__ import annotations

import os
import socket
import sys
from typing import Any

from flashcrowd.clients.host_sandbox import entered
from flashcrowd.clients.swarm import Swarm
from flashcrowd.emulation import lab

SEED = "FLASHCROWD_TESTED_SEED"
_right = Swarm.prepare
_taken: list[Any] = []


def _prepare(self: Swarm) -> None:
    if str(self.seed) == os.environ[SEED]:
        place = self.peers[-1].place
        with entered(place.netns):
            _taken.append(socket.socket())
        _taken[-1].bind((place.address, self.port))
        _taken[-1].listen()
    _right(self)


if __name__ == "__main__":
    Swarm.prepare = _prepare
    sys.exit(lab.main())
