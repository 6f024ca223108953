"""A line that needs no limit is known by a minute of load without a delay, and by no less."""

from __future__ import annotations

from dataclasses import replace

import pytest

from flashcrowd.autolimit.relief import LOOKS, Relief
from flashcrowd.autolimit.session import Status

MS = 10**6
SECOND = 10**9
FREE = Status(
    120_000, 0, 500_000, 500_000, 2 * MS, None, None, "holding", "below the limit", MS, 12 * MS
)
"""Much is uploaded, the limit is far above it, and nothing waits."""


def looks(*statuses: Status) -> tuple[str, int]:
    """What is said after these seconds, and how often it was ended."""
    relief, ends = Relief(), []
    relief.stop = lambda: ends.append(None)
    for second, status in enumerate(statuses):
        for part in range(3):  # it hears of it more often than it looks
            relief.status(second * SECOND + part * SECOND // 3, status)
    return relief.words, len(ends)


def test_a_router_that_keeps_the_queue_short_needs_no_limit() -> None:
    words, ends = looks(*[FREE] * (LOOKS + 5))
    assert ends == 1
    assert "120 kB/s" in words
    assert "more than 12 ms" in words


@pytest.mark.parametrize(
    "held",
    [
        replace(FREE, limit=130_000),  # the limit may be what keeps the delay short
        replace(FREE, longest=80 * MS),
        replace(FREE, longest=None),
        replace(FREE, up=10_000),  # too little to tell
        replace(FREE, up=None),
    ],
)
def test_one_second_that_disagrees_begins_the_look_again(held: Status) -> None:
    assert looks(*[FREE] * (LOOKS - 1), held, *[FREE] * (LOOKS - 1)) == ("", 0)


def test_a_rate_that_goes_up_and_down_is_no_full_line() -> None:
    waves = [replace(FREE, up=60_000 + 2_000 * (second % 40)) for second in range(3 * LOOKS)]
    assert looks(*waves) == ("", 0)
