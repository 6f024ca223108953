"""The rate of a link over time, as a drawing shows it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from flashcrowd.scenario.capacity import PACKET, Capacity
from flashcrowd.scenario.framing import Framing

BINS = 96
"""Columns of a curve."""


@dataclass(frozen=True)
class Curve:
    """The capacity of one direction of a link over a round of its trace.

    Attributes:
        way: which direction, as the drawing calls it; may be empty.
        file: where it was read.
        bps: the mean rate of each of equal parts of the round.
        mean_bps: of the whole round.
        length_s: of the round.
        repeats: whether it begins again then; else the last rate holds.
    """

    way: str
    file: str
    bps: tuple[float, ...]
    mean_bps: float
    length_s: float
    repeats: bool

    @property
    def words(self) -> str:
        """The rate in words, in place of a number."""
        return f"{rate(self.mean_bps)} in the mean ({self.file})"

    @property
    def label(self) -> str:
        """The title above it: both of its axes."""
        ends = "then again" if self.repeats else "then as at its end"
        way = f"{self.way} " if self.way else ""
        return f"{way}0 to {rate(max(self.bps))}, {span(self.length_s)}, {ends}"


def is_trace(value: object) -> bool:
    """Whether the value of a rate in a resolved study is a trace."""
    return isinstance(value, Mapping) and "capacity" in value


def curve(value: Mapping[str, object], framing: object, way: str = "", bins: int = BINS) -> Curve:
    """The curve of a trace of a resolved study."""
    capacity = Capacity(str(value["capacity"]))
    frame = Framing(str(framing)).frame(PACKET) if framing is not None else PACKET
    rates = tuple(capacity.binned(bins, frame))
    mean, length = capacity.mean_bps(frame), capacity.length_ns() / 1e9
    return Curve(way, str(value["file"]), rates, mean, length, value.get("end") != "hold")


def rate(bps: float) -> str:
    """A rate in three digits."""
    for unit, size in (("Gbit/s", 1e9), ("Mbit/s", 1e6), ("kbit/s", 1e3)):
        if bps >= size:
            return f"{bps / size:.3g} {unit}" if bps < 1000 * size else f"{bps / size:.0f} {unit}"
    return f"{bps:.3g} bit/s"


def span(seconds: float) -> str:
    """A time in three digits."""
    for unit, size in (("h", 3600.0), ("min", 120.0)):
        if seconds >= size:
            return f"{seconds / (60.0 if unit == 'min' else size):.3g} {unit}"
    return f"{seconds:.3g} s" if seconds >= 1 else f"{seconds * 1000:.3g} ms"
