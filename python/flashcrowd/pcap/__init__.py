"""The packets of hosts on the wire, as files that Wireshark opens."""

from __future__ import annotations

from flashcrowd.pcap.files import Captured, NoCapture, write

__all__ = ["Captured", "NoCapture", "write"]
