"""The rate of a link over time, as a trace has it."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Any, Literal

from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema

from flashcrowd.base.units import UnitError, text_schema

MOST_ENTRIES = 1_000_000
"""More are surely a mistake."""
MOST_BPS = 10**12
LONGEST_NS = 366 * 86_400 * 10**9

Kind = Literal["rates", "opportunities"]

PACKET = 1500
"""Bytes of the IP packet that an opportunity of a Mahimahi trace carries."""


class Capacity:
    """Rates from instants on, or instants at each of which one full packet is carried.

    As a text it is its kind and whole numbers: "rates 0 5000000 1000000000 0" has pairs of
    nanoseconds and bit/s, "opportunities 0 5 5 20" milliseconds.

    Attributes:
        kind: which of both.
        times: nanoseconds after the beginning for rates, milliseconds for opportunities.
        bps: the rate from each instant on; nothing for opportunities.
    """

    __slots__ = ("_hash", "bps", "kind", "times")
    allowed = '"rates" and pairs of nanoseconds and bit/s, or "opportunities" and milliseconds'

    kind: Kind
    times: tuple[int, ...]
    bps: tuple[int, ...]

    def __init__(self, text: str | Capacity) -> None:
        if isinstance(text, Capacity):
            self.kind, self.times, self.bps = text.kind, text.times, text.bps
            self._hash = text._hash
            return
        words = text.split() if isinstance(text, str) else []
        if words[:1] not in (["rates"], ["opportunities"]):
            raise UnitError(self.allowed)
        if not all(word.isascii() and word.isdigit() and len(word) < 20 for word in words[1:]):
            raise UnitError(self.allowed, "whole numbers stand in it, and nothing else")
        numbers = tuple(map(int, words[1:]))
        if words[0] == "rates":
            if len(numbers) % 2:
                raise UnitError(self.allowed, "the last pair has one number")
            self._set("rates", numbers[::2], numbers[1::2])
        else:
            self._set("opportunities", numbers, ())

    @classmethod
    def of(cls, kind: Kind, times: Sequence[int], bps: Sequence[int] = ()) -> Capacity:
        """A capacity from its numbers.

        Raises:
            UnitError: there is no such capacity; `key` is the place of the entry, from zero.
        """
        made = cls.__new__(cls)
        made._set(kind, tuple(times), tuple(bps))
        return made

    def _set(self, kind: Kind, times: tuple[int, ...], bps: tuple[int, ...]) -> None:
        self.kind, self.times, self.bps = kind, times, bps
        self._hash = hash((kind, times, bps))
        if len(times) == 0:
            raise UnitError("at least one entry", "there is none")
        if len(times) > MOST_ENTRIES:
            raise UnitError(f"at most {MOST_ENTRIES} entries", f"there are {len(times)}")
        rates = kind == "rates"
        for place, (before, now) in enumerate(pairwise(times), 1):
            if now < before or (rates and now == before):
                what = "times that rise" if rates else "times that do not fall"
                seen = [f"{it / 1e9:g} s" if rates else str(it) for it in (now, before)]
                raise UnitError(what, " comes after ".join(seen), str(place))
        if rates and times[0]:
            raise UnitError("a first time of zero", "subtract it from all", "0")
        last = max(times)
        if last * (1 if rates else 10**6) > LONGEST_NS:
            raise UnitError("times of at most a year", key=str(len(times) - 1))
        if not rates and not last:
            raise UnitError("a trace that lasts for more than zero milliseconds", key="0")
        if rates and max(bps) > MOST_BPS:
            raise UnitError("rates of at most 1000 Gbit/s", key=str(bps.index(max(bps))))
        if rates and not max(bps):
            raise UnitError("a rate of more than zero somewhere", "nothing would ever arrive")

    def length_ns(self) -> int:
        """When it begins again: rates, after the last has held for as long as the one before it.

        A single rate has no end of its own; a second is taken for it.
        """
        if self.kind == "opportunities":
            return self.times[-1] * 10**6
        if len(self.times) < 2:
            return 10**9
        return 2 * self.times[-1] - self.times[-2]

    def bits(self, until_ns: int, frame: int = PACKET) -> int:
        """Bits that are offered from the beginning up to an instant of the first round.

        Args:
            until_ns: the instant.
            frame: bytes that an opportunity carries.
        """
        if self.kind == "opportunities":
            return bisect_right(self.times, until_ns // 10**6) * frame * 8
        ends = [*self.times[1:], until_ns]
        spans = (
            bps * max(0, min(end, until_ns) - begin)
            for begin, end, bps in zip(self.times, ends, self.bps, strict=True)
        )
        return sum(spans) // 10**9

    def mean_bps(self, frame: int = PACKET) -> float:
        """The mean rate of a round in bit/s."""
        return self.bits(self.length_ns(), frame) * 1e9 / self.length_ns()

    def binned(self, bins: int, frame: int = PACKET) -> list[float]:
        """The mean rate of each of `bins` equal parts of a round, in bit/s."""
        length = self.length_ns()
        ends = [length * (place + 1) // bins for place in range(bins)]
        sums = self._sums(ends, frame)
        begins = [0, *ends[:-1]]
        return [
            (now - before) / max(end - begin, 1)
            for before, now, begin, end in zip([0.0, *sums[:-1]], sums, begins, ends, strict=True)
        ]

    def _sums(self, ends: Sequence[int], frame: int) -> list[float]:
        """Bits by each instant, times 10⁹."""
        if self.kind == "opportunities":
            unit = frame * 8e9
            return [bisect_right(self.times, end / 1e6) * unit for end in ends]
        widths = (end - begin for begin, end in pairwise(self.times))
        areas = (width * bps for width, bps in zip(widths, self.bps, strict=False))
        before = list(accumulate(areas, initial=0))
        sums = []
        for end in ends:
            place = bisect_right(self.times, end) - 1
            sums.append(before[place] + (end - self.times[place]) * float(self.bps[place]))
        return sums

    def __str__(self) -> str:
        if self.kind == "opportunities":
            return " ".join(["opportunities", *map(str, self.times)])
        pairs = zip(self.times, self.bps, strict=True)
        return " ".join(["rates", *(f"{at} {bps}" for at, bps in pairs)])

    def __repr__(self) -> str:
        return f"<Capacity of {len(self.times)} {self.kind}>"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Capacity):
            return False
        mine, others = (self.kind, self.times, self.bps), (other.kind, other.times, other.bps)
        return self is other or (self._hash == other._hash and mine == others)

    def __hash__(self) -> int:
        return self._hash

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Validates texts and capacities; serialises to the text."""
        return text_schema(cls)

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: Any, handler: Any) -> dict[str, object]:
        """A string."""
        return {"type": "string", "examples": ["rates 0 5000000", "opportunities 0 5 5 20"]}
