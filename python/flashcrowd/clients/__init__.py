"""Real BitTorrent programs that play the peers of a plan's swarms, each at a place.

They know nothing of how the network between the places is made.
"""

from flashcrowd.clients.client import ClientFailed, Found
from flashcrowd.clients.host_sandbox import HostSandbox
from flashcrowd.clients.programs import PROGRAMS, found, refusals
from flashcrowd.clients.swarm import Swarm

__all__ = ["PROGRAMS", "ClientFailed", "Found", "HostSandbox", "Swarm", "found", "refusals"]
