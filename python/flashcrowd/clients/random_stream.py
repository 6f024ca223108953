"""Named random streams: the derivation of the simulation, so that both engines draw the same.

A swarm of real programs then meets the arrivals and departures that a simulated one of the same
plan and seed meets, and the two can be compared in pairs. `RandomStream` of the crate `base` is the
original; its test vectors hold here, too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

_WORD = (1 << 64) - 1
_STATE = (1 << 128) - 1
_GOLDEN = 0x9E3779B97F4A7C15
_MULTIPLIER = 0x2360ED051FC65DA44385DF649FCCF645
"""Of PCG XSL-RR 128/64 (MCG), O'Neill 2014."""


def _fnv1a(text: str) -> int:
    value = 0xCBF29CE484222325
    for byte in text.encode():
        value = (value ^ byte) * 0x100000001B3 & _WORD
    return value


def _mix(word: int) -> int:
    word = (word ^ word >> 30) * 0xBF58476D1CE4E5B9 & _WORD
    word = (word ^ word >> 27) * 0x94D049BB133111EB & _WORD
    return word ^ word >> 31


class RandomStream:
    """The stream of a seed, a purpose and an index."""

    def __init__(self, seed: int, purpose: str, index: int) -> None:
        word = _mix(seed + _GOLDEN & _WORD) ^ _fnv1a(purpose)
        key = _mix(_mix(word) + index & _WORD)
        high, low = _mix(key + _GOLDEN & _WORD), _mix(key + 2 * _GOLDEN & _WORD)
        self._state = high << 64 | low | 1

    def bits(self) -> int:
        """The next 64 bits."""
        self._state = self._state * _MULTIPLIER & _STATE
        word = (self._state >> 64 ^ self._state) & _WORD
        turn = self._state >> 122
        return (word >> turn | word << (64 - turn)) & _WORD

    def unit(self) -> float:
        """Uniform in [0, 1)."""
        return (self.bits() >> 11) * 2.0**-53

    def below(self, bound: int) -> int:
        """Uniform among 0 to `bound - 1`."""
        return self.bits() * bound >> 64

    def exponential(self, mean_ns: int) -> int:
        """An exponential time with this mean, in nanoseconds."""
        return round(-math.log(1.0 - self.unit()) * (mean_ns / 1e9) * 1e9)

    def between(self, low_ns: int, high_ns: int) -> int:
        """A time that is uniform between two, in nanoseconds."""
        return low_ns + int(self.unit() * max(high_ns - low_ns, 0))

    def shuffle(self, items: list[Any]) -> None:
        """A uniformly random order (Fisher and Yates)."""
        for last in range(len(items) - 1, 0, -1):
            other = self.below(last + 1)
            items[last], items[other] = items[other], items[last]

    def bytes(self, count: int) -> bytes:
        """So many bytes."""
        words = (self.bits().to_bytes(8, "little") for _ in range(-(-count // 8)))
        return b"".join(words)[:count]


def quantile(points: Sequence[tuple[float, float]], share: float) -> float:
    """The value of a distribution at a share, with straight lines between its quantile points."""
    for place, (right, value) in enumerate(points):
        if right >= share:
            left, before = points[place - 1] if place else (right, value)
            return (
                before + (value - before) * (share - left) / (right - left)
                if right > left
                else value
            )
    return points[-1][1]
