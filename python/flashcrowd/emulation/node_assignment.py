"""A lab's side of a run on several nodes: its assignment and its messages."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Mapping
from dataclasses import dataclass

from flashcrowd.base.messages import Asker, M, Message
from flashcrowd.emulation.messages import Begin, End, Missing, Nodes, ShareOrder, Standing

SILENCE_S = 10.0
"""A node that is silent for this long is lost."""
_TELL_S = 0.1


@dataclass(frozen=True)
class NodeAssignment:
    """A lab's part of a run.

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
    def of(cls, asked: ShareOrder) -> NodeAssignment:
        """The share that an order asks for, with a socket at its address.

        Raises:
            OSError: there can be none.
        """
        family = socket.AF_INET6 if ":" in asked.address else socket.AF_INET
        made = socket.socket(family, socket.SOCK_DGRAM)
        made.bind((asked.address, 0))
        return cls(asked.node, asked.division, asked.run, made)


class Conductor(Asker[Nodes | Begin | Missing | End]):
    """The process that sees all nodes.

    Attributes:
        end: when the run ends, once that is known.
        missing: swarms in which a peer of another node lacks pieces.
    """

    def __init__(self) -> None:
        super().__init__(Nodes, Begin, Missing, End)
        self.end: End | None = None
        self.missing: Mapping[str, bool] = {}
        self._heard_s = time.monotonic()
        self._told_s = float("-inf")

    def hear(self, longest_s: float) -> list[Nodes | Begin | Missing | End]:
        """What arrives within `longest_s` seconds."""
        found = super().hear(longest_s)
        if found:
            self._heard_s = time.monotonic()
        return found

    def ask(self, message: Message, kind: type[M], longest_s: float) -> M:
        """Say something, and wait for the answer.

        Raises:
            OSError: there was none in time.
        """
        self.say(message)
        end = time.monotonic() + longest_s
        while time.monotonic() < end:
            for said in self.hear(0.1):
                if isinstance(said, kind):
                    return said
        raise OSError(f"the first node did not answer for {longest_s:g} s")

    def tell(self, standing: Standing) -> None:
        """Tell how far this node is, now and then, and hear what there is to hear.

        Raises:
            OSError: nothing was heard for too long.
        """
        now = time.monotonic()
        if now - self._told_s < _TELL_S:
            return
        self._told_s = now
        self.say(standing)
        for said in self.hear(0.0):
            if isinstance(said, End):
                self.end = said
            elif isinstance(said, Missing):
                self.missing = said.swarms
        if time.monotonic() - self._heard_s > SILENCE_S:
            raise OSError(f"nothing was heard from the first node for {SILENCE_S:g} s")
