"""Nodes of the DHT of Azureus and BiglyBT, as far as a client needs them to ping one.

A node of BiglyBT itself says only after 15 minutes, and in a large DHT, that it can be reached.
Only nodes that say so are pinged. These say it at once. They answer pings and searches for nodes,
and store nothing.
"""

from __future__ import annotations

import contextlib
import selectors
import socket
import struct
import threading
from collections.abc import Sequence

from flashcrowd.clients.host_sandbox import HostSandbox, entered

PROTOCOL = 54
"""That of BiglyBT 3.2 (`PROTOCOL_VERSION_PROC_TIME`)."""
_PING, _FIND_NODE = 1024, 1028
_REQUEST = struct.Struct(">qiibbi")
"""Connection, action, transaction, version, vendor, network."""
_REPLY = struct.Struct(">iiqbbiibbh")
"""Action, transaction, connection, version, vendor, network, instance, flags, more flags, and how
long it took, in milliseconds."""
_ROUTABLE = 1
_UDP = 1
_VIVALDI = 1
_APART_MS = 10.0
_ALIVE_MS = 3_600_000


def contact(place: HostSandbox, port: int) -> bytes:
    """A node's contact, as sent to other nodes (`DHTUDPUtils.serialiseContact`)."""
    return struct.pack(">bbb4sH", _UDP, PROTOCOL, 4, socket.inet_aton(place.address), port)


def contacts(places: Sequence[HostSandbox], port: int) -> bytes:
    """Nodes as a client keeps them in a file (`DHTControlImpl.importState`)."""
    each = (struct.pack(">q", _ALIVE_MS) + contact(place, port) for place in places)
    return struct.pack(">i", len(places)) + b"".join(each)


def answer(request: bytes, number: int, others: bytes) -> bytes | None:
    """The answer of a node; None to an unknown request.

    Args:
        request: a datagram.
        number: of the node, from 1 on. Nodes say that they are 10 ms apart from each other: a
            client takes nodes of equal distance for one.
        others: the contacts of all, with their number before.
    """
    if len(request) < _REQUEST.size:
        return None
    connection, action, transaction, version, vendor, network = _REQUEST.unpack_from(request)
    if action not in (_PING, _FIND_NODE) or version != PROTOCOL:
        return None
    first = action + 1, transaction, connection, version, vendor, network
    head = _REPLY.pack(*first, number, 0, 0, 1)
    position = struct.pack(">bbbffff", 1, _VIVALDI, 16, number * _APART_MS, 1.0, 1.0, 1.0)
    if action == _PING:
        return head + position + b"\0"  # no contacts of other networks
    return head + struct.pack(">iii", number, _ROUTABLE, 1) + position + others


class Nodes:
    """The nodes at some places, answered for by one thread."""

    def __init__(self, places: Sequence[HostSandbox], port: int) -> None:
        """They answer from now on.

        Raises:
            OSError: the port is in use.
        """
        self._others = struct.pack(">H", len(places)) + b"".join(contact(it, port) for it in places)
        self._selector = selectors.DefaultSelector()
        self._awake, self._wake = socket.socketpair()
        self._selector.register(self._awake, selectors.EVENT_READ, 0)
        try:
            for number, place in enumerate(places, 1):
                with entered(place.netns):
                    listening = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
                self._selector.register(listening, selectors.EVENT_READ, number)
                listening.bind((place.address, port))
        except OSError:
            self._close()
            raise
        self._thread = threading.Thread(target=self._run, name="flashcrowd-dht", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """They answer no more."""
        self._wake.send(b"0")
        self._thread.join()
        self._close()

    def _run(self) -> None:
        while True:
            for key, _ in self._selector.select():
                if not key.data:
                    return
                listening = key.fileobj
                assert isinstance(listening, socket.socket)
                with contextlib.suppress(OSError):
                    request, whom = listening.recvfrom(2048)
                    said = answer(request, key.data, self._others)
                    if said is not None:
                        listening.sendto(said, whom)

    def _close(self) -> None:
        for key in [*self._selector.get_map().values()]:
            assert isinstance(key.fileobj, socket.socket)
            key.fileobj.close()
        self._wake.close()
        self._selector.close()
