"""A lab's end of a run that several nodes play: what it is asked for, and whom it tells."""

from __future__ import annotations

import json
import os
import select
import socket
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from flashcrowd.emulation.messages import Share
from flashcrowd.emulation.standing import Standing

SILENCE_S = 10.0
"""Who says nothing for so long is lost."""
_TELL_S = 0.1


@dataclass(frozen=True)
class NodeAssignment:
    """What of a run a lab plays.

    Attributes:
        node: its number.
        division: which node plays what, as `_core.divide` says (JSON).
        run: number of the run, known to its nodes alone.
        socket: where packets of other nodes arrive. It was made in the machine's network, before
            this process left it.
    """

    node: int
    division: str
    run: int
    socket: socket.socket

    @property
    def hosts(self) -> list[int]:
        """The hosts that are played here."""
        nodes = json.loads(self.division)["hosts"]
        return [host for host, node in enumerate(nodes) if node == self.node]

    @classmethod
    def of(cls, asked: Share) -> NodeAssignment:
        """The share that an order asks for, with a socket at its address.

        Raises:
            OSError: there can be none.
        """
        address = asked["address"]
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        made = socket.socket(family, socket.SOCK_DGRAM)
        made.bind((address, 0))
        return cls(asked["node"], asked["division"], asked["run"], made)


@dataclass(frozen=True)
class End:
    """When a run ends, in its own seconds, how, and why."""

    at_s: float
    outcome: str
    reason: str


class Conductor:
    """Who sees all nodes, by this process's standard input and output.

    Attributes:
        end: when the run ends, once that is known.
        missing: swarms in which somebody who is played elsewhere lacks something.
    """

    def __init__(self) -> None:
        self.end: End | None = None
        self.missing: dict[int, bool] = {}
        self._rest = b""
        self._heard = time.monotonic()
        self._told = float("-inf")

    def say(self, message: Mapping[str, Any]) -> None:
        """Say something."""
        data = json.dumps(message).encode() + b"\n"
        while data:
            data = data[os.write(1, data) :]

    def ask(self, message: Mapping[str, Any], longest_s: float) -> Mapping[str, Any]:
        """Say something, and wait for the answer.

        Raises:
            OSError: there was none in time.
        """
        self.say(message)
        end = time.monotonic() + longest_s
        while time.monotonic() < end:
            for said in self._hear(0.1):
                return said
        raise OSError(f"the first node did not answer for {longest_s:g} s")

    def tell(self, standing: Standing) -> None:
        """Tell how far this node is, now and then, and hear what there is to hear.

        Raises:
            OSError: nothing was heard for too long.
        """
        now = time.monotonic()
        if now - self._told < _TELL_S:
            return
        self._told = now
        self.say({"standing": standing.told()})
        for said in self._hear(0.0):
            if "end" in said:
                self.end = End(**said["end"])
            if "missing" in said:
                self.missing = {int(index): it for index, it in said["missing"].items()}
        if time.monotonic() - self._heard > SILENCE_S:
            raise OSError(f"nothing was heard from the first node for {SILENCE_S:g} s")

    def _hear(self, longest_s: float) -> list[Mapping[str, Any]]:
        if not select.select([0], [], [], longest_s)[0]:
            return []
        data = os.read(0, 1 << 16)
        if not data:
            os._exit(1)  # whoever asked for the run is gone
        self._heard = time.monotonic()
        *lines, self._rest = (self._rest + data).split(b"\n")
        return [json.loads(line) for line in lines]
