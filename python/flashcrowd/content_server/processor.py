"""What a run costs the machine's processors, and what others take of them."""

from __future__ import annotations

import os
import resource
import time
from pathlib import Path
from typing import TypedDict

_STAT = Path("/proc/stat")
_STOLEN = 7
"""The place of the time in which a virtual machine was not run, among the times of a processor."""


class Cost(TypedDict):
    """What a run costs: `processor_s` of this process, `stolen` of all processors' time a part."""

    wall_s: float
    processor_s: float
    stolen: float


class Processor:
    """Begins to count."""

    def __init__(self) -> None:
        self._wall = time.monotonic()
        self._own = _own()
        self._all, self._stolen = _machine()

    def since(self) -> Cost:
        """What it was since it began to count."""
        all_s, stolen = _machine()
        span = all_s - self._all
        return {
            "wall_s": time.monotonic() - self._wall,
            "processor_s": _own() - self._own,
            "stolen": (stolen - self._stolen) / span if span > 0 else 0.0,
        }


def _own() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def _machine() -> tuple[float, float]:
    """Seconds of all processors, and how many of them were given to others."""
    times = [int(it) for it in _STAT.read_text().split("\n", 1)[0].split()[1:9]]
    tick = os.sysconf("SC_CLK_TCK")
    return sum(times) / tick, times[_STOLEN] / tick
