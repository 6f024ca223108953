"""Probes without privileges: small packets that hosts beyond the line send back.

Three ways: ICMP echo where the kernel allows it to all users (`icmp`), the handshake of TCP
(`tcp`), and a question over UDP (`udp`).
"""

from flashcrowd.autolimit.probes.prober import Prober, Reflector
from flashcrowd.autolimit.probes.reflectors import PUBLIC, parse
from flashcrowd.autolimit.probes.sounder import WAYS, Heard, Sounder

__all__ = ["PUBLIC", "WAYS", "Heard", "Prober", "Reflector", "Sounder", "parse"]
