"""What the status line says of the queue is what was measured, and never better than that."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashcrowd import _core
from flashcrowd.autolimit.delays import HEAVY_NS, Delays
from flashcrowd.autolimit.session import Status
from flashcrowd.autolimit.voice import line

MS = 10**6
SECOND = 10**9
WELL = re.compile(r"no (added )?(delay|harm|queue)|empties|harmless|free|free of")
"""Words that sound as if nothing waits."""


def heard(delays_ms: list[int], gap: int = 400 * MS) -> Delays:
    delays = Delays()
    for number, delay in enumerate(delays_ms):
        delays.note(number * gap, delay * MS)
    return delays


@pytest.mark.parametrize(
    ("delays_ms", "words"),
    [
        ([0, 1, 0], ""),  # too few
        ([0, 2, 1, 0, 9, 30], "no added delay"),
        ([0, 140, 3, 90, 0, 100], "the queue empties between bursts"),
        ([0, 90, 3, 90, 0, 307], "bursts wait 307 ms"),
        ([180, 160, 200, 170, 160, 20], "a queue stands"),
        ([60, 80, 70, 90, 60, 80], ""),  # neither empty nor heavy
    ],
)
def test_the_queue_is_said_as_it_was_measured(delays_ms: list[int], words: str) -> None:
    assert heard(delays_ms).words() == words


def test_only_the_last_seconds_count() -> None:
    delays = heard([500] * 20)
    for number in range(12):
        delays.note(20 * SECOND + number * 400 * MS, 0)
    assert (delays.words(), delays.median) == ("no added delay", 0)


def test_a_line_has_the_median_beside_the_last_delay() -> None:
    delays = heard([0, 0, 10, 12, 12, 20, 40, 307])
    status = Status(
        64_000, 0, 93_000, 93_000, delays.last, None, None, "holding", "below the limit",
        delays.median, delays.longest, delays.words(),
    )  # fmt: skip
    assert line(status) == (
        "up 64 kB/s  down 0 kB/s  limit 93 kB/s  delay +307 ms (median +12 ms)  "
        "holding: below the limit; bursts wait 307 ms"
    )
    unknown = Status(
        None, None, None, None, None, None, None, "starting", "probes are on their way"
    )
    assert line(unknown) == "limit none  starting: probes are on their way"


@given(
    st.lists(st.integers(0, 2_000_000), min_size=1, max_size=200),
    st.integers(0, 60_000),
    st.sampled_from(["autolimit", "autolimit-delay", "autolimit-baseline"]),
)
def test_a_line_with_a_long_delay_never_says_that_nothing_waits(
    delays_us: list[int], kilobytes: int, name: str
) -> None:
    """Whatever the probes and the client say, through controller and words alike."""
    control = _core.UploadController(name, 0, 4)
    delays, sent = Delays(), 0
    for number, delay in enumerate(delays_us):
        now = number * SECOND // 2
        sent += 500 * kilobytes
        control.on_rates(now, sent, 0)
        control.on_answer(now, number % 4, 20 * MS + delay * 1000)
        delays.note(now, delay * 1000)
        while control.probe(now) is not None:
            pass
        phase, reason, *_ = control.state
        status = Status(
            1, 1, 1, 1, delays.last, None, None, phase, reason,
            delays.median, delays.longest, delays.words(),
        )  # fmt: skip
        if max(delays.last or 0, delays.median or 0) > HEAVY_NS:
            assert not WELL.search(line(status)), line(status)
