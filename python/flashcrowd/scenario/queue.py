"""Queues, as texts."""

from __future__ import annotations

import re
from typing import Any

from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema

from flashcrowd.base.errors import did_you_mean
from flashcrowd.base.units import Size, UnitError, text_schema
from flashcrowd.scenario.described import KINDS

_PACKETS = re.compile(r"\s*([+-]?[0-9]{1,18})\s*packets?\s*")

_WHOLE = re.compile(r"[0-9]{1,18}")

MOST_PACKETS = 2**31

DISCIPLINES = tuple(kind for kind in KINDS["queue"] if kind != "drop-tail")
"""Disciplines that may stand where a queue does; see `flashcrowd.scenario.discipline`."""

SEPARATING = frozenset({"fq-codel", "sfq", "drr", "cake"})
"""Disciplines with a queue for each flow: a flow waits for its own packets, not for the others'."""


class Queue:
    """Where a drop-tail queue is full: "200 packets", "64 KiB", both, or "unlimited".

    Attributes:
        packets: the most packets, the one in transmission included; `None` for no such limit.
        bytes: the most bytes, framing included; `None` for no such limit.
    """

    __slots__ = ("bytes", "packets")
    allowed = (
        'a queue, as in "200 packets", "64 KiB", "200 packets, 64 KiB" or "unlimited", or one of '
        + ", ".join(DISCIPLINES)
    )

    packets: int | None
    bytes: Size | None

    def __init__(self, text: str | Queue) -> None:
        if isinstance(text, Queue):
            self.packets, self.bytes = text.packets, text.bytes
            return
        if not isinstance(text, str):
            whole = isinstance(text, int) and not isinstance(text, bool)
            hint = f'write "{text} packets"' if whole and 1 <= text <= MOST_PACKETS else ""
            raise UnitError(self.allowed, hint)
        self.packets = self.bytes = None
        if text.strip() in ("unlimited", "none"):
            return
        for part in text.split(","):
            self._add(part)

    def _add(self, part: str) -> None:
        match = _PACKETS.fullmatch(part)
        if match is None and _WHOLE.fullmatch(part.strip()):
            count = part.strip()
            few = 1 <= int(count) <= MOST_PACKETS
            hint = f'write "{count} packets" or "{count} KiB"' if few else ""
            raise UnitError(self.allowed, hint)
        if match is None:
            try:
                size = Size(part)
            except UnitError as error:
                hint = did_you_mean(part, DISCIPLINES) or error.hint
                raise UnitError(self.allowed, hint) from None
            if self.bytes is not None or not size:
                raise UnitError(self.allowed, "one limit of more than zero in bytes")
            self.bytes = size
            return
        packets = int(match[1])
        if self.packets is not None or not 1 <= packets <= MOST_PACKETS:
            raise UnitError(self.allowed, "one limit of at least 1 packet")
        self.packets = packets

    def __str__(self) -> str:
        packets = [] if self.packets is None else [f"{self.packets} packets"]
        limits = packets if self.bytes is None else [*packets, str(self.bytes)]
        return ", ".join(limits) or "unlimited"

    def __repr__(self) -> str:
        return f'Queue("{self}")'

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Queue) and (self.packets, self.bytes) == (
            other.packets,
            other.bytes,
        )

    def __hash__(self) -> int:
        return hash((self.packets, self.bytes))

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Validates texts and queues; serialises to the text."""
        return text_schema(cls)

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: Any, handler: Any) -> dict[str, object]:
        """A string."""
        return {"type": "string", "examples": ["200 packets", "64 KiB", "unlimited"]}
