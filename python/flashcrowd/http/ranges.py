"""Which bytes of a file are there, as runs."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator

Run = tuple[int, int]
"""First byte, and the first byte after the last."""


class Ranges:
    """A set of byte positions, kept as ascending runs that do not touch."""

    def __init__(self, runs: Iterable[Run] = ()) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []
        self.bytes = 0
        """How many positions are in the set."""
        for start, end in runs:
            self.add(start, end)

    def __iter__(self) -> Iterator[Run]:
        return iter(list(zip(self._starts, self._ends, strict=True)))

    def __len__(self) -> int:
        return len(self._starts)

    def add(self, start: int, end: int) -> None:
        """Put the positions from `start` to before `end` into the set."""
        if start >= end:
            return
        # Runs that overlap or touch become one.
        first = bisect_left(self._ends, start)
        last = bisect_right(self._starts, end)
        if first < last:
            start = min(start, self._starts[first])
            end = max(end, self._ends[last - 1])
        before = sum(self._ends[it] - self._starts[it] for it in range(first, last))
        self._starts[first:last] = [start]
        self._ends[first:last] = [end]
        self.bytes += end - start - before

    def remove(self, start: int, end: int) -> None:
        """Take the positions from `start` to before `end` out of the set."""
        if start >= end:
            return
        first = bisect_right(self._ends, start)
        last = bisect_left(self._starts, end)
        if first >= last:
            return
        rest = [
            (low, high)
            for low, high in (
                (self._starts[first], start),
                (end, self._ends[last - 1]),
            )
            if low < high
        ]
        before = sum(self._ends[it] - self._starts[it] for it in range(first, last))
        self._starts[first:last] = [low for low, _ in rest]
        self._ends[first:last] = [high for _, high in rest]
        self.bytes += sum(high - low for low, high in rest) - before

    def holds(self, start: int, end: int) -> bool:
        """Whether all positions from `start` to before `end` are in the set."""
        if start >= end:
            return True
        index = bisect_right(self._starts, start) - 1
        return index >= 0 and end <= self._ends[index]

    def gaps(self, start: int, end: int) -> Iterator[Run]:
        """The runs between `start` and `end` that are not in the set, ascending."""
        index = bisect_right(self._ends, start)
        while start < end:
            if index == len(self._starts) or self._starts[index] >= end:
                yield start, end
                return
            if start < self._starts[index]:
                yield start, self._starts[index]
            start = self._ends[index]
            index += 1

    @property
    def prefix(self) -> int:
        """How many positions from 0 on are in the set without a gap."""
        return self._ends[0] if self._starts and self._starts[0] == 0 else 0
