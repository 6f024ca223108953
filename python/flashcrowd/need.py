"""What a run is expected to need, as an engine predicts it from a plan."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Need:
    """What one run needs.

    For ordinary plans each number is within a factor of two of what the run then takes.

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
