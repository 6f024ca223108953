"""The clients that autolimit knows, by the name in their address."""

from __future__ import annotations

from flashcrowd.client_api.address import Address
from flashcrowd.client_api.client import Client
from flashcrowd.client_api.credentials import Credentials
from flashcrowd.client_api.deluge import Deluge
from flashcrowd.client_api.qbittorrent import QBittorrent
from flashcrowd.client_api.transmission import Transmission

CLIENTS = {"qbittorrent": QBittorrent, "transmission": Transmission, "deluge": Deluge}
"""The keys of `address.PORTS`."""


def reach(address: Address, credentials: Credentials) -> Client:
    """The client at an address; nothing is sent yet."""
    return CLIENTS[address.client](address, credentials)
