"""The size of a packet on the wire, as a text."""

from __future__ import annotations

from typing import Any

from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema

from flashcrowd.base.errors import did_you_mean
from flashcrowd.base.units import Size, UnitError, text_schema

FRAMES = {"ethernet": 38, "shaper": 14, "ip": 0}
"""Bytes of a frame beyond its IP packet, by name: Ethernet with preamble and gap, what a Linux
shaper counts, and nothing.
"""

ENCAPSULATIONS = {
    "atm": 40,
    "pppoe-llc": 40,
    "pppoe-vcmux": 32,
    "pppoa-llc": 14,
    "pppoa-vcmux": 10,
    "bridged-llc": 32,
    "bridged-vcmux": 24,
    "ipoa-llc": 16,
    "ipoa-vcmux": 8,
}
"""Bytes that ATM cells carry with each IP packet, by the names of Linux's tc-cake(8): the trailer
of AAL5 (8), LLC and SNAP (RFC 2684: 8 for routed packets, 10 for bridged frames), Ethernet (14)
where frames are bridged, PPP (2; with LLC 6, RFC 2364) or PPPoE with PPP (8, RFC 2516). "atm" is
the most usual of them, PPPoE over LLC."""

MOST = Size("1000 B")
"""A greater overhead is a mistake."""


class Framing:
    """The size of a packet on a link.

    A name or a size ("38 B") says what a frame costs beyond its IP packet: "ethernet" (38 B),
    "shaper" (14 B), "ip" (0 B). "atm" says that packets are cut into whole cells of 53 bytes, each
    with 48 of the packet and what is carried with it: 40 B, or another size ("atm 16 B"), or the
    size of a named encapsulation ("pppoa-vcmux").

    Attributes:
        atm: whether packets are carried in ATM cells.
        overhead: what is carried with each IP packet; with cells, their headers are not part of it.
    """

    __slots__ = ("atm", "overhead")
    allowed = f'a size, as in "38 B", {", ".join(FRAMES)}, "atm 40 B", {", ".join(ENCAPSULATIONS)}'

    atm: bool
    overhead: Size

    def __init__(self, text: str | Size | Framing) -> None:
        if isinstance(text, Framing):
            self.atm, self.overhead = text.atm, text.overhead
            return
        name = text.strip() if isinstance(text, str) else ""
        self.atm = name in ENCAPSULATIONS or name.startswith("atm ")
        if name in FRAMES or name in ENCAPSULATIONS:
            self.overhead = Size(f"{({**FRAMES, **ENCAPSULATIONS})[name]} B")
            return
        if name.replace("-", "").isalpha():
            raise UnitError(self.allowed, did_you_mean(name, [*FRAMES, *ENCAPSULATIONS]))
        try:
            self.overhead = Size(name.removeprefix("atm ") if self.atm else text)
        except UnitError as error:
            raise UnitError(self.allowed, error.hint) from None
        if self.overhead > MOST:
            raise UnitError(f"an overhead of at most {MOST}")

    def frame(self, packet: int) -> int:
        """Bytes of an IP packet on the link; in ATM, whole cells of 53 bytes with 48 of content."""
        framed = packet + self.overhead.bytes
        return -(-framed // 48) * 53 if self.atm else framed

    def to_plan(self) -> dict[str, object]:
        """As a plan has it."""
        if self.atm:
            return {"kind": "atm", "encapsulation_bytes": self.overhead.bytes}
        return {"kind": "plain", "overhead_bytes": self.overhead.bytes}

    def __str__(self) -> str:
        return f"atm {self.overhead}" if self.atm else str(self.overhead)

    def __repr__(self) -> str:
        return f'Framing("{self}")'

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Framing) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[bool, int]:
        return self.atm, self.overhead.bytes

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Validates texts and framings; serialises to the text."""
        return text_schema(cls)

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: Any, handler: Any) -> dict[str, object]:
        """A name or a size."""
        names = [*FRAMES, *ENCAPSULATIONS]
        sizes = {"type": "string", "examples": ["38 B", "atm 40 B"]}
        return {"anyOf": [{"enum": names}, sizes]}
