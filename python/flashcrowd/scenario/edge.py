"""The parts of a map: places, and edges between them."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, Strict, StringConstraints

from flashcrowd.base.units import Share
from flashcrowd.scenario.fields import (
    DelaySpan,
    MaybeRate,
    Probability,
    Table,
    Word,
    one_line,
)
from flashcrowd.scenario.impairments import MaybeJitter

PlaceName = Annotated[str, StringConstraints(min_length=1, max_length=120), one_line]
"""What a map calls a place or an edge: any text in one line."""

Degrees = Annotated[float, Field(ge=-180, le=180)]


class Place(Table):
    """A place of a map, where hosts may be."""

    label: Annotated[str, StringConstraints(max_length=120), one_line] = ""
    """What people call it; a group may say `at` with this or with the place's name."""
    coordinates: Annotated[
        Annotated[tuple[Degrees, Degrees], Strict(False)] | None, Word("none")
    ] = None
    """Latitude and longitude in degrees, north and east positive."""
    up: MaybeRate = None
    """Rate of the line up of each host here whose group has no line of its own."""
    down: MaybeRate = None
    """The same down."""


class Edge(Table):
    """What joins two places, or (a loop) what lies between the hosts of one."""

    between: Annotated[tuple[PlaceName, PlaceName], Strict(False)]
    """The two places, by name; twice the same for what lies between hosts of one place."""
    one_way: bool = False
    """Whether packets cross it only from the first place to the second."""
    delay: DelaySpan | Literal["distance"] = "distance"
    """One-way delay; "distance" for that of light in a fibre from one place to the other."""
    jitter: MaybeJitter = None
    """Random delay, each way."""
    loss: Probability = Share("0 %")
    """Random loss, each way."""
    rate: MaybeRate = None
    """Rate of each way, shared by all that crosses it; "unlimited" for one without a queue."""


def ways(name: str) -> tuple[str, str]:
    """What the two directions of an edge or of a shared link are called in tables."""
    return name, f"{name} back"
