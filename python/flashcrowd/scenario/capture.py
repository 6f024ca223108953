"""Packets with their bytes, as they pass the interfaces of hosts."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from flashcrowd.base.units import Size, Span
from flashcrowd.scenario.fields import Name, PositiveSpan, Table, Word, within


def _listed(given: Any) -> Any:
    return [given] if isinstance(given, str) else given


Names = Annotated[
    list[Name],
    Field(min_length=1),
    BeforeValidator(_listed, json_schema_input_type=Name | list[Name]),
]
"""One name, or several."""

LEAST = Size("80 B")
"""The longest headers of IP and TCP."""


class Capture(Table):
    """The captured interfaces, and the time: every packet that leaves or arrives, with its bytes.

    A packet that is lost on its way is seen by its sender alone. `flashcrowd pcap` makes files for
    Wireshark of it.
    """

    hosts: Names
    """Hosts, or groups of hosts."""
    begin: Span = Field(default=Span("0 s"), alias="from")
    """The first instant that is captured (in a file: `from`)."""
    to: Annotated[PositiveSpan | None, Word("end")] = None
    """The first instant that is captured no more; "end" for the end of the run."""
    snap: Annotated[Annotated[Size, within(LEAST, Size("65535 B"))] | None, Word("full")] = Size(
        "160 B"
    )
    """How much is kept of each packet: all headers and the first 80 bytes or more behind them, a
    BitTorrent handshake among them; "full" for all of it, which programs need that put streams
    together again."""
