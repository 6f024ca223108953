"""A map of a network: places, and edges between them over which packets find their way."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import (
    BeforeValidator,
    Field,
    PrivateAttr,
    StringConstraints,
    ValidationInfo,
    model_validator,
)

from flashcrowd.base.units import Share, Span, UnitError
from flashcrowd.scenario.discipline import AnyQueue
from flashcrowd.scenario.distribution import MaybeFile
from flashcrowd.scenario.edge import Edge, Place, PlaceName
from flashcrowd.scenario.fields import (
    Table,
    Word,
    one_line,
    shorthand,
)
from flashcrowd.scenario.files import Files
from flashcrowd.scenario.graph_file import read_map
from flashcrowd.scenario.queue import Queue
from flashcrowd.scenario.routes import Route, routes

EARTH_KM = 6371.0088
"""Mean radius of the earth (IUGG 1980, (2a + b) / 3)."""

FIBRE_KM_PER_S = 299_792.458 / 1.4682
"""Speed of light in a fibre, 4.90 us a kilometre: the effective group index of Corning's SMF-28 at
1550 nm is 1.4682."""


class Topology(Table):
    """A map of the network. Hosts are at places, and packets cross edges from place to place."""

    file: MaybeFile = None
    """A GraphML file (as Shadow's or the Internet Topology Zoo's) or a GML file, its path relative
    to the study. Its content is in the resolved study as places and edges.
    """
    source: Annotated[str, StringConstraints(max_length=300), one_line] = ""
    """The file from which places and edges were read."""
    routes: Literal["shortest", "direct"] = "shortest"
    """The way between two places: over the edges with the least delay in all (Shadow's
    `use_shortest_path`), or over the one edge between them."""
    detour: Share = Share("0 %")
    """By how much a fibre is longer than the great circle, where a delay is by "distance"."""
    unplaced: Literal["refuse", "leave-out"] = "refuse"
    """What becomes of edges whose delay is by "distance" and one of whose places has no
    coordinates."""
    queue: AnyQueue = Queue("1000 packets")
    """Where the queue of an edge with a rate is full, or its discipline."""
    places: dict[PlaceName, Place] = Field(default_factory=dict)
    """The places, by name."""
    edges: dict[PlaceName, Edge] = Field(default_factory=dict)
    """What joins them."""

    _ways: dict[tuple[str, ...], dict[tuple[str, str], Route | None]] = PrivateAttr(
        default_factory=dict
    )

    def __eq__(self, other: object) -> bool:
        """By what a file says: routes follow from that."""
        return isinstance(other, Topology) and self.__dict__ == other.__dict__

    __hash__ = None  # type: ignore[assignment]  # as all tables

    @model_validator(mode="before")
    @classmethod
    def _read_file(cls, given: Any, info: ValidationInfo) -> Any:
        if not isinstance(given, dict) or given.get("file") in (None, "none"):
            return given
        own = {"places", "edges"} & given.keys()
        if own and not given.get("source"):
            raise UnitError("a file, or places and edges of one's own", "not both", key="file")
        if not isinstance(given["file"], str):
            return given
        content = read_map(given["file"], Files.of(info))
        return {**given, "file": None, "source": given["file"], **content}

    def find(self, name: str) -> list[str]:
        """The places that a name means: by its name, or else all with this label."""
        if name in self.places:
            return [name]
        return [place for place, table in self.places.items() if name and table.label == name]

    def called(self, name: str) -> str:
        """The name of a place for people: its label, or else its name."""
        return self.places[name].label or name

    def is_usable(self, edge: Edge) -> bool:
        """Whether its delay is known."""
        if edge.delay != "distance":
            return True
        ends = (self.places.get(end) for end in edge.between)
        return all(end is not None and end.coordinates is not None for end in ends)

    def delay_ns(self, edge: Edge) -> int:
        """Its one-way delay. Its ends have coordinates if that goes by distance."""
        if isinstance(edge.delay, Span):
            return edge.delay.ns
        one, other = (self.places[end].coordinates for end in edge.between)
        if one is None or other is None:
            raise ValueError(edge.between)  # the checks come first
        km = great_circle_km(one, other) * (1 + self.detour.value)
        return round(km / FIBRE_KM_PER_S * 1e9)

    def ways(self, used: Sequence[str]) -> dict[tuple[str, str], Route | None]:
        """The route from each of some places to each; `None` where there is none."""
        key = tuple(used)
        if key not in self._ways:
            usable = {name: it for name, it in self.edges.items() if self.is_usable(it)}
            self._ways[key] = routes(
                usable,
                {name: self.delay_ns(it) for name, it in usable.items()},
                key,
                direct=self.routes == "direct",
            )
        return self._ways[key]


def great_circle_km(one: tuple[float, float], other: tuple[float, float]) -> float:
    """Length of the shortest way over a sphere between two latitudes and longitudes in degrees.

    By the haversine formula, which is exact for near places, too (R. W. Sinnott, 1984).
    """
    (lat, lon), (lat2, lon2) = (map(math.radians, place) for place in (one, other))
    half = math.sin((lat2 - lat) / 2) ** 2
    half += math.cos(lat) * math.cos(lat2) * math.sin((lon2 - lon) / 2) ** 2
    return 2 * EARTH_KM * math.asin(min(1.0, math.sqrt(half)))


class _MapFile(Table):
    """A map by its file."""

    file: str
    """A GraphML or GML file, its path relative to the study."""


MaybeTopology = Annotated[
    Topology | None,
    shorthand(
        "file",
        Topology | _MapFile | Annotated[str, Field(examples=["map.graphml", "map.gml"])],
    ),
    Word("none"),
]
"""A map: the path of its file, a table, or "none"."""

At = Annotated[
    list[PlaceName],
    BeforeValidator(
        lambda given: [] if given == "none" else [given] if isinstance(given, str) else given,
        json_schema_input_type=list[PlaceName] | PlaceName,
    ),
]
"""One place, several, or "none"."""
