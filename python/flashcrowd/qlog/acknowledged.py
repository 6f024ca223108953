"""Which packets an acknowledgement is about: qlog has their numbers, TCP and uTP say otherwise."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from flashcrowd.base.rows import Row

_WIRE = 1 << 16
"""How many numbers uTP has for packets."""


class Acknowledged:
    """One end's unacknowledged data, and the packet that carried it last."""

    def __init__(self, *, wire: bool) -> None:
        self._wire = wire
        self._number: dict[int, int] = {}
        self._sent: deque[tuple[int, int]] = deque()

    def sent(self, row: Row) -> None:
        """A packet left this end; one without data takes no number that could be acknowledged."""
        if row.get("offset") is None:
            return
        if self._wire:
            start, end = row["seq_nr"], row["seq_nr"]
        else:
            fin = row["packet_type"] == "fin"
            start, end = row["offset"], row["offset"] + row["payload_bytes"] + fin
        if start not in self._number:
            self._sent.append((start, end))
        self._number[start] = row["packet_number"]

    def by(self, row: Row) -> list[list[int]]:
        """The packets of this end that a packet acknowledges for the first time, as ranges."""
        found = []
        ack = row.get("ack")
        while self._sent and ack is not None and self._below(self._sent[0][1], ack):
            number = self._number.pop(self._sent.popleft()[0])
            if number >= 0:
                found.append(number)
        for text in (row.get("sack") or "").split():
            begin, _, end = text.partition("-")
            found += self._selected(int(begin), int(end))
        return ranges(found)

    def _below(self, end: int, ack: int) -> bool:
        return (ack - end) % _WIRE < _WIRE // 2 if self._wire else end <= ack

    def _selected(self, begin: int, end: int) -> Iterable[int]:
        for start, last in self._sent:
            inside = begin <= start < end if self._wire else begin <= start and last <= end
            number = self._number[start]
            if inside and number >= 0:
                self._number[start] = -1
                yield number


def ranges(numbers: Iterable[int]) -> list[list[int]]:
    """Numbers as ranges, both ends included."""
    found: list[list[int]] = []
    for number in sorted(numbers):
        if found and found[-1][1] + 1 == number:
            found[-1][1] = number
        else:
            found.append([number, number])
    return found
