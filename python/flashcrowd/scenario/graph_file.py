"""Reads maps of networks from GraphML (Shadow 1, the Internet Topology Zoo) and GML (Shadow 2).

The attributes are defined in Shadow's documents of the network graph (3.2-Network-Config.md of 1.x,
network_graph_spec.md of 2.x, and the units of its `units.rs`), and in the Topology Zoo's files.
Every attribute is taken as text and read here, so that a mistake is reported with its node or edge.
What is not read is counted and reported.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from flashcrowd.base.errors import visible
from flashcrowd.base.units import Rate, Share, Span, UnitError
from flashcrowd.scenario.data_file import number
from flashcrowd.scenario.edge import ways
from flashcrowd.scenario.fields import LONGEST_DELAY
from flashcrowd.scenario.files import Files
from flashcrowd.scenario.gml_file import read_gml
from flashcrowd.scenario.graph import Attributes, Graph, refused
from flashcrowd.scenario.graphml_file import read_graphml
from flashcrowd.scenario.text_file import text_of, unread

_LONGEST_NAME = 100

_TIMES = {
    unit: Fraction(ns)
    for ns, units in (
        (1, "ns nanosecond nanoseconds"),
        (10**3, "us \N{GREEK SMALL LETTER MU}s \N{MICRO SIGN}s microsecond microseconds"),
        (10**6, "ms millisecond milliseconds"),
        (10**9, "s sec secs second seconds"),
        (60 * 10**9, "m min mins minute minutes"),
        (3600 * 10**9, "h hr hrs hour hours"),
    )
    for unit in units.split()
}
"""Nanoseconds in each unit of time that Shadow has."""

_PREFIXES = {
    prefix: factor
    for factor, prefixes in (
        (1, [""]),
        (10**3, ["k", "K", "kilo"]),
        (2**10, ["Ki", "kibi"]),
        (10**6, ["M", "mega"]),
        (2**20, ["Mi", "mebi"]),
        (10**9, ["G", "giga"]),
        (2**30, ["Gi", "gibi"]),
        (10**12, ["T", "tera"]),
        (2**40, ["Ti", "tebi"]),
    )
    for prefix in prefixes
}
_RATES = {
    f"{prefix}{bits}{per}": Fraction(factor)
    for prefix, factor in _PREFIXES.items()
    for bits in ("bit", "bits")
    for per in ("", "/s", "ps")
}
"""Bits per second in each unit of bandwidth that Shadow has; "Mbit" means Mbit/s."""

_LINE_UNITS = ("Gbit/s", "Mbit/s", "kbit/s", "bit/s")

_NUMBER = re.compile(r"\s*(?P<number>[0-9.]+(?:[eE][+-]?[0-9]+)?)\s*(?P<unit>\D.*?)?\s*")

_UP, _DOWN = (
    (f"host_bandwidth_{way}", f"bandwidth_{way}", f"bandwidth{way}") for way in ("up", "down")
)
_LOSS = ("packet_loss", "packetloss")
_RATE = ("bandwidth", "LinkSpeedRaw")
_LATITUDE, _LONGITUDE = ("Latitude", "latitude"), ("Longitude", "longitude")
_OLD = {"packetloss", "bandwidthup", "bandwidthdown"}
"""Attributes of Shadow 1.x, in which times are in milliseconds and bandwidths in KiB/s."""
_NEW = {"packet_loss", "host_bandwidth_up", "host_bandwidth_down", "bandwidth_up", "bandwidth_down"}

_READ = {
    "node": {"label", *_UP, *_DOWN, *_LOSS, *_LATITUDE, *_LONGITUDE},
    "edge": {"latency", "jitter", *_LOSS, *_RATE},
    "graph": set[str](),
}
"""The attributes that are read of each kind of element."""

_SAYS_NOTHING = {
    "node": {
        # Shadow: the host that it models. The study says which hosts are where.
        "id", "ip", "ip_address", "citycode", "countrycode", "country_code", "city_code", "geocode",
        "asn", "type",
        # The Topology Zoo: where it was found, and how it is drawn.
        "Country", "Internal", "hyperedge", "doubted", "x", "y",
        "geocode_append", "geocode_country", "geocode_id", "geocode_name",
        "description", "url", "nodegraphics",
    },
    "edge": {"id", "key", "label", "description", "url", "edgegraphics"},
    "graph": {
        "label", "id", "name", "description", "Description",
        # The Topology Zoo: whose network it is, and how it became known.
        "Access", "Backbone", "Classification", "Commercial", "Creator", "Customer", "DateModifier",
        "DateMonth", "DateObtained", "DateType", "DateYear", "Developed", "GeoExtent",
        "GeoLocation", "IX", "LastAccess", "LastProcessed", "Layer", "Network", "NetworkDate",
        "Note", "Provenance", "Source", "SourceGitVersion", "SvnVersion", "Testbed",
        "ToolsetVersion", "Transit", "Type", "Version",
    },
}  # fmt: skip
"""Attributes that name or draw, and change no packet."""

_RATE_IN_WORDS = {"LinkLabel", "LinkNote", "LinkSpeed", "LinkSpeedUnits", "LinkType"}
"""Attributes of the Topology Zoo from which people wrote `LinkSpeedRaw`. No rate is guessed from
them: they are quoted for edges without a rate.
"""

_MOST_TOLD = 8

Content = dict[str, dict[str, dict[str, Any]]]
"""Places and edges, as the tables of a topology have them."""


def read_map(name: str, files: Files) -> Content:
    """The content of a file, as the keys of `Topology` that it replaces.

    Args:
        name: as the study has it.
        files: where files are, and where doubts go.

    Raises:
        UnitError: it cannot be read, or is no map; `key` is "file".
    """
    path = files.directory / name
    try:
        text = text_of(path, regular=True)
    except (OSError, UnicodeDecodeError, ValueError) as error:
        raise refused(f"cannot read {path}: {unread(error)}") from None
    if "\0" in text:
        line = text[: text.index("\0")].count("\n") + 1
        raise refused(f"{path} line {line} has \\u0000", "a text without NUL bytes")
    found = _Map(read_gml(text, path) if _is_gml(text) else read_graphml(text, path))
    content = found.content()
    told = found.unread()
    if told:
        files.doubt(path, told, "not read, so it changes nothing")
    return content


def _is_gml(text: str) -> bool:
    lines = (line.strip() for line in text.splitlines())
    first = next((line for line in lines if line and not line.startswith("#")), "")
    return not first.startswith("<") and re.match(r"(Creator|Version|graph)\b", first) is not None


class _Element:
    """A node or an edge, with its attributes as text."""

    def __init__(
        self, what: str, attributes: Mapping[str, object], path: Path, *, old: bool
    ) -> None:
        self._what, self._path = what, path
        self._texts = {str(key): str(value).strip() for key, value in attributes.items()}
        self._old = old

    def first(self, names: Iterable[str]) -> tuple[str, str] | None:
        """The one of some attributes that there is, by its name.

        Raises:
            UnitError: there are several, and they differ.
        """
        there = [(name, self._texts[name]) for name in names if self._texts.get(name)]
        if len({text for _, text in there}) > 1:
            also = ", ".join(f"{name} too" for name, _ in there[1:])
            raise self.wrong(there[0][0], "one attribute for one thing", f"it has {also}")
        return there[0] if there else None

    def wrong(self, name: str, allowed: str, hint: str = "") -> UnitError:
        text = visible(self._texts.get(name, ""))[:60]
        said = f'{self._path}: {self._what}: {name} is "{text}"'
        return refused(f"{said}; {hint}" if hint else said, allowed)

    def number(self, name: str) -> Fraction:
        text = self._texts[name]
        found = number(text.lstrip("+-")) if text[:2] not in ("+-", "-+", "--", "++") else None
        if found is None:
            raise self.wrong(name, "a number")
        return -found if text.startswith("-") else found

    def _quantity(self, name: str, units: Mapping[str, Fraction], bare: Fraction | None) -> int:
        """A number with one of the units, in base units; without a unit, of `bare` ones."""
        match = _NUMBER.fullmatch(self._texts[name])
        example = "10 ms" if units is _TIMES else "10 Mbit"
        allowed = f'a number with its unit, as in "{example}"'
        if match is None:
            raise self.wrong(name, allowed)
        unit = match["unit"]
        scale = bare if unit is None else units.get(unit)
        if scale is None:
            hint = "a number alone says neither ms nor s"
            if unit is not None:
                hint = f"there is no unit {visible(unit)[:20]!r}"
            raise self.wrong(name, allowed, hint)
        found = number(match["number"])
        if found is None:
            raise self.wrong(name, allowed)
        return round(found * scale)

    def time(self, name: str, *, new: bool) -> Span:
        """Milliseconds in Shadow 1.x and seconds in 2.x, where no unit is given."""
        bare = Fraction(10**6) if self._old else Fraction(10**9) if new else None
        ns = self._quantity(name, _TIMES, bare)
        if ns > LONGEST_DELAY.ns:
            raise self.wrong(name, f"a time of at most {LONGEST_DELAY}")
        return Span.of(ns)

    def rate(self, names: Sequence[str]) -> Rate | None:
        """KiB/s in Shadow 1.x and bit/s elsewhere, where no unit is given."""
        found = self.first(names)
        if found is None:
            return None
        name = found[0]
        bits = self._quantity(name, _RATES, Fraction(1024 * 8 if name in _OLD else 1))
        if not 0 < bits <= Rate.most:
            raise self.wrong(
                name, f"a bandwidth of more than zero and at most {Rate.of(Rate.most)}"
            )
        unit = next(it for it in _LINE_UNITS if bits % Rate.units[it] == 0)
        return Rate(f"{bits // int(Rate.units[unit])} {unit}")

    def loss(self) -> Share:
        found = self.first(_LOSS)
        if found is None:
            return Share("0 %")
        share = self.number(found[0])
        if not 0 <= share <= 1:
            raise self.wrong(found[0], "a fraction between 0 and 1")
        return Share.of(share)

    def coordinates(self) -> tuple[float, float] | None:
        names = [self.first(each) for each in (_LATITUDE, _LONGITUDE)]
        if None in names:
            alone = next((it for it in names if it), None)
            if alone:
                raise self.wrong(alone[0], "Latitude and Longitude together")
            return None
        found = []
        for pair, most in zip(names, (90, 180), strict=True):
            name = pair[0] if pair else ""
            degrees = self.number(name)
            if abs(degrees) > most:
                raise self.wrong(name, f"degrees between -{most} and {most}")
            found.append(float(degrees))
        return found[0], found[1]


class _Map:
    """A graph, read as a map."""

    def __init__(self, graph: Graph) -> None:
        self._graph, self._path = graph, graph.path
        # Attributes of all elements are on edges alone where nodes may not have them.
        of = {"node": _READ["node"] - {*_LOSS}, "edge": _READ["edge"], "graph": _READ["graph"]}
        self._usual = {
            kind: {name: it for name, it in graph.usual.items() if name in names}
            for kind, names in of.items()
        }
        self._ids = {node: self._name(node) for node in graph.nodes}
        if len(set(self._ids.values())) < len(self._ids):
            raise refused(f"{self._path}: two nodes have the same id but for its length or quotes")
        names = {name for data in graph.nodes.values() for name in data}
        names |= {name for arc in graph.arcs for name in arc.attributes} | graph.usual.keys()
        self._old, self._new = bool(names & _OLD), bool(names & _NEW)

    def content(self) -> Content:
        places = dict(self._places())
        if not places:
            raise refused(f"{self._path} has no nodes")
        return {"places": places, "edges": self._edges(places)}

    def unread(self) -> str:
        """Attributes of the file that are not read, counted; empty if there are none."""
        count = Counter(self._graph.unread)
        for kind, of_kind in (
            ("node", list(self._graph.nodes.values())),
            ("edge", [arc.attributes for arc in self._graph.arcs]),
            ("graph", [self._graph.attributes]),
        ):
            for data in of_kind:
                ignored = _READ[kind] | _SAYS_NOTHING[kind]
                if kind == "edge" and any({**self._usual[kind], **data}.get(it) for it in _RATE):
                    ignored |= _RATE_IN_WORDS
                places = f"{len(of_kind)} {kind}s" if kind != "graph" else "the graph"
                for name in data.keys() - ignored:
                    count[f"{visible(name)[:40]} of {{}}{places}"] += 1
                for name in (data.keys() & _READ[kind]) - {"label"}:
                    if not str(data[name]).strip():
                        count[f"empty {name} of {{}}{places}"] += 1
        known = {name for names in (*_READ.values(), *_SAYS_NOTHING.values()) for name in names}
        for name in self._graph.usual.keys() - known:
            count[f"default {visible(name)[:40]}"] += 1
        told = [
            it.format("" if it.endswith("the graph") else f"{times} of ") if "{}" in it
            else f"{times} × {it}"
            for it, times in sorted(count.items(), key=lambda pair: (-pair[1], pair[0]))
        ]  # fmt: skip
        more = f", … ({len(told)} in all)" if len(told) > _MOST_TOLD else ""
        return ", ".join(told[:_MOST_TOLD]) + more

    @staticmethod
    def _name(text: str) -> str:
        return visible(text).replace('"', "'").strip()[:_LONGEST_NAME] or "(no name)"

    def _element(self, what: str, data: Attributes) -> _Element:
        usual = self._usual[what.partition(" ")[0]]
        return _Element(what, {**usual, **data}, self._path, old=self._old)

    def _places(self) -> Iterator[tuple[str, dict[str, Any]]]:
        for node, data in self._graph.nodes.items():
            name = self._ids[node]
            element = self._element(f"node {name}", data)
            loss = element.first(_LOSS)
            if loss and element.number(loss[0]):
                raise element.wrong(loss[0], "0: loss lies on edges")
            label = element.first(("label",))
            place: dict[str, object] = {"label": self._name(label[1]) if label else ""}
            coordinates = element.coordinates()
            if coordinates:
                place["coordinates"] = coordinates
            for key, names in (("up", _UP), ("down", _DOWN)):
                rate = element.rate(names)
                if rate:
                    place[key] = rate
            yield name, place

    def _edges(self, places: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
        edges: dict[str, dict[str, Any]] = {}
        count: dict[str, int] = {}
        taken: set[str] = set()
        for arc in self._graph.by_place():
            ends = self._ids[arc.ends[0]], self._ids[arc.ends[1]]
            called = " - ".join(places[end]["label"] or end for end in ends)
            count[called] = count.get(called, 0) + 1
            name = called if count[called] == 1 else f"{called} {count[called]}"
            while not taken.isdisjoint(ways(name)):
                name += "'"
            taken.update(ways(name))
            element = self._element(f"edge {ends[0]} - {ends[1]}", arc.attributes)
            edge: dict[str, Any] = {"between": ends}
            if arc.directed:
                edge["one_way"] = True
            if element.first(("latency",)):
                edge["delay"] = element.time("latency", new=self._new)
            if element.first(("jitter",)):
                jitter = element.time("jitter", new=self._new)
                if jitter:
                    edge["jitter"] = {"spread": jitter}
            loss = element.loss()
            if loss:
                edge["loss"] = loss
            rate = element.rate(_RATE)
            if rate:
                edge["rate"] = rate
            edges[name] = edge
        return edges
