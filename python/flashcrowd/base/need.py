"""The predicted need of a run, as an engine computes it from a plan."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Need:
    """The need of one run.

    For nine of ten ordinary plans packets and events are within a factor of 1.5 of what the run
    takes (`benches/needs/README.md`); the other numbers are less sure.

    Attributes:
        events: events of the event loop.
        packets: packets that reach the hosts that they are for, acknowledgements included.
        seconds: seconds of one processor core.
        bytes: bytes of memory at the peak, on top of what the process has before.
        end_s: when the run ends, in seconds of its own time.
    """

    events: int
    packets: int
    seconds: float
    bytes: int
    end_s: float
