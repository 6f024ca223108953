"""The clients that autolimit knows, by the name in their address."""

from __future__ import annotations

from flashcrowd.autolimit.address import Address
from flashcrowd.autolimit.client import Client
from flashcrowd.autolimit.credentials import Credentials
from flashcrowd.autolimit.deluge import Deluge
from flashcrowd.autolimit.qbittorrent import QBittorrent
from flashcrowd.autolimit.transmission import Transmission

CLIENTS = {"qbittorrent": QBittorrent, "transmission": Transmission, "deluge": Deluge}
"""The keys of `address.PORTS`."""


def reach(address: Address, credentials: Credentials) -> Client:
    """The client at an address; nothing is sent yet."""
    return CLIENTS[address.client](address, credentials)
