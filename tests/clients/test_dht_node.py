"""Nodes that BiglyBT can ping, by datagrams as its source writes them."""

from __future__ import annotations

import socket
import struct

import pytest
from tests.clients import testbed

from flashcrowd.clients import dht_node

PORT = 6881


def request(action: int, version: int = dht_node.PROTOCOL) -> bytes:
    """A request of BiglyBT up to its flags; what follows does not matter here."""
    head = struct.pack(">qiibbi", -(1 << 62), action, 7, version, 0, 0)
    origin = struct.pack(">bb4sHiq", version, 4, socket.inet_aton("198.18.0.1"), PORT, 1, 0)
    return head + origin + bytes(2)


def test_a_ping_is_answered_with_the_place_of_the_node():
    said = dht_node.answer(request(1024), 3, b"")
    assert said is not None
    assert struct.unpack_from(">iiq", said) == (1025, 7, -(1 << 62))
    assert struct.unpack_from(">bbbf", said, len(said) - 20) == (1, 1, 16, 30.0)
    assert said[-1] == 0


def test_a_search_for_nodes_is_answered_with_all_and_that_the_node_can_be_reached():
    places = testbed.loopback(2)
    others = struct.pack(">H", 2) + b"".join(dht_node.contact(it, PORT) for it in places)
    said = dht_node.answer(request(1028), 1, others)
    assert said is not None
    assert said.endswith(others)
    assert struct.unpack_from(">ii", said, len(said) - len(others) - 19 - 12)[1] == 1


@pytest.mark.parametrize(
    "said", [b"", bytes(30), request(1030), request(1024, 53), request(1024)[:20]]
)
def test_what_a_node_does_not_know_it_does_not_answer(said: bytes):
    assert dht_node.answer(said, 1, b"") is None


def test_contacts_are_as_a_client_keeps_them():
    places = testbed.loopback(2)
    kept = dht_node.contacts(places, PORT)
    assert struct.unpack_from(">iqbbb4sH", kept)[0::6] == (2, PORT)
    assert len(kept) == 4 + 2 * (8 + 9)


def test_nodes_answer_at_their_places_until_they_are_closed():
    places = testbed.loopback(3)
    nodes = dht_node.Nodes(places, PORT)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        asking.settimeout(5.0)
        for number, place in enumerate(places, 1):
            asking.sendto(request(1024), (place.address, PORT))
            said, _ = asking.recvfrom(2048)
            assert said == dht_node.answer(request(1024), number, b"")
        nodes.close()
    again = dht_node.Nodes(places, PORT)
    again.close()


def test_a_port_that_is_taken_is_told():
    places = testbed.loopback(2)
    nodes = dht_node.Nodes(places[1:], PORT)
    try:
        with pytest.raises(OSError, match="in use"):
            dht_node.Nodes(places, PORT)
    finally:
        nodes.close()
