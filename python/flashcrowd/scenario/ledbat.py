"""What a controller of the LEDBAT family needs, for TCP stacks and uTP configurations alike.

The fields are those of the engine's table. Where a file leaves some out, the table that ships with
the controller has them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any

from pydantic import Field, GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema

from flashcrowd.scenario.fields import Natural, Table, within
from flashcrowd.scenario.mirror import tables_from_plan
from flashcrowd.units import Share, Size, Span


@dataclass(frozen=True)
class _Controllers:
    """One of the engine's controllers; the list is the engine's."""

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        """A literal of their names."""
        from flashcrowd import _core

        return core_schema.literal_schema(_core.controllers())


Controller = Annotated[str, _Controllers()]
"""The congestion controllers."""

RTT_BASED: frozenset[str] = frozenset({"ledbat-plus-plus"})
"""Controllers of the LEDBAT family that go by round trips instead of one-way delays."""

Factor = Annotated[float, Field(gt=0, le=1000)]
Packets = Annotated[int, Field(ge=0, le=1_000_000)]
Part = Annotated[Share, within(Share("0.001 %"), Share("10000 %"))]


class Ledbat(Table):
    """Everything about a controller of the LEDBAT family that can change a number."""

    target: Annotated[Span, within(Span("1 ms"), Span("10 s"))]
    """The queueing delay that it steers to."""
    gain: Factor
    """Packets of growth per window without a queue; `ledbat`, `ledbat-draft` and LEDBAT++."""
    max_increase: Annotated[Size, within(Size("1 B"), Size("16 MiB"))]
    """The same in bytes, whatever a packet's size; libutp and libtorrent."""
    base_history: Annotated[int, Field(ge=1, le=32)]
    """The base delay is the least of so many minutes."""
    noise_filter: Annotated[int, Field(ge=1, le=16)]
    """The current delay is the least of so many samples."""
    min_window_packets: Annotated[int, Field(ge=0, le=1000)]
    """The window is never below so many packets, except after a timeout."""
    min_window: Annotated[Size, within(Size("0 B"), Size("16 MiB"))]
    """Nor below so many bytes; libutp knows only this, and goes below a packet."""
    max_window: Annotated[Size, within(Size("1000 B"), Size("1 TiB"))]
    """The window is never above this; libutp's send buffer."""
    allowed_increase_packets: Packets
    """The window is at most what was in flight and so many packets; 0 for no bound; `ledbat`."""
    loss_factor: Annotated[Share, within(Share("0.001 %"), Share("100 %"))]
    """What a loss leaves of the window."""
    loss_interval: Span
    """Least time between two reductions for losses; libutp and libtorrent."""
    slow_start: bool
    """Begin, and begin again after a timeout, with slow start."""
    slow_start_exit: Part
    """Slow start ends when the queueing delay exceeds this part of the target."""
    app_limited: Span
    """The window does not grow if it was last full longer ago; libutp."""
    gain_divisor: Annotated[int, Field(ge=1, le=1_000_000)]
    """The gain is not below one part in so many; LEDBAT++."""
    decrease: Factor
    """How strongly the window comes down above the target (the constant C); LEDBAT++."""
    slowdown_interval: Natural
    """Between slowdowns lies so many times what the last one took; 0 for none; LEDBAT++."""


@cache
def ledbats() -> dict[str, dict[str, Any]]:
    """For each controller of the family its table that ships, as a file would write it."""
    from flashcrowd import _core

    return tables_from_plan(Ledbat, _core.ledbat_tables())
