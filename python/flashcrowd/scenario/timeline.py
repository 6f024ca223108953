"""Changes at given instants."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Discriminator, Tag

from flashcrowd.scenario.fields import Table
from flashcrowd.units import Span


class Change(Table):
    """One value of the network or of a workload changes in place: what is queued stays queued."""

    at: Span
    """The instant."""
    change: str
    """Dotted path of what changes, as in `network.links.bottleneck.rate`."""
    to: Any
    """The new value, as it would stand at that path."""


class Halt(Table):
    """A workload stops: its peers leave, its flows are aborted."""

    at: Span
    """The instant."""
    stop: str
    """The workload's name."""


def _tag(given: object) -> str:
    stops = isinstance(given, Halt) or (isinstance(given, dict) and "stop" in given)
    return "a stop" if stops else "a change"


Event = Annotated[
    Annotated[Change, Tag("a change")] | Annotated[Halt, Tag("a stop")], Discriminator(_tag)
]
