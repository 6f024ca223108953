"""A share of a study's runs, for one of several machines that have nothing in common."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from flashcrowd.store.manifest import Run

MOST = 100_000
"""Most shards of a study."""


@dataclass(frozen=True)
class Shard:
    """One of `of` equal shares.

    Attributes:
        number: which one, from 1.
        of: how many there are.
    """

    number: int
    of: int

    @classmethod
    def parse(cls, text: str) -> Shard:
        """Reads `2/8`.

        Raises:
            ValueError: it is no shard.
        """
        match = re.fullmatch(r"([0-9]{1,6})/([0-9]{1,6})", text.strip())
        shard = cls(int(match[1]), int(match[2])) if match else None
        if shard is None or not 1 <= shard.number <= shard.of <= MOST:
            raise ValueError(f'a shard is needed, as in 2/8 for the second of eight, not "{text}"')
        return shard

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    def of_runs(self, runs: Sequence[Run]) -> list[Run]:
        """The runs of this shard, in order."""
        return [run for place, run in enumerate(runs) if number_at(place, self.of) == self.number]


def number_at(place: int, of: int) -> int:
    """Which of `of` shards has the run at a place of a study's runs.

    Of each `of` runs a shard has one, and not always the same one: where there are as many points
    as shards, no shard has all runs of the slowest point.
    """
    return (place + place // of) % of + 1
