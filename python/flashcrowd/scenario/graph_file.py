"""Reads maps of networks from GraphML (Shadow 1, the Internet Topology Zoo) and GML (Shadow 2).

What the attributes mean stands in Shadow's documents of the network graph (3.2-Network-Config.md
of 1.x, network_graph_spec.md of 2.x, and the units of its `units.rs`), and in the Topology Zoo's
files. networkx reads the graph; every attribute is taken as text and read here, so that what is
wrong with one is told with its node or edge.
"""

from __future__ import annotations

import re
import warnings
import xml.parsers.expat
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from flashcrowd.errors import visible
from flashcrowd.scenario.fields import LONGEST_DELAY
from flashcrowd.scenario.text_file import text_of
from flashcrowd.units import Rate, Share, Span, UnitError

MOST_NODES = 2_000
MOST_EDGES = 20_000
"""Larger maps are refused: all of a map stands in the resolved study."""

MOST_ELEMENTS = 50 * (MOST_NODES + MOST_EDGES)
"""No map of that size has more elements of XML."""

ALLOWED = (
    "a GraphML file as Shadow and the Topology Zoo have them, or a GML file as Shadow has them"
)

_GRAPHML = "{http://graphml.graphdrawing.org/xmlns}"
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
_OLD = {"packetloss", "bandwidthup", "bandwidthdown"}
"""Attributes of Shadow 1.x, in which times are in milliseconds and bandwidths in KiB/s."""
_NEW = {"packet_loss", "host_bandwidth_up", "host_bandwidth_down", "bandwidth_up", "bandwidth_down"}

Content = dict[str, dict[str, dict[str, Any]]]
"""Places and edges, as the tables of a topology have them."""


def read_map(name: str, directory: Path | None) -> Content:
    """The content of a file, as the keys of `Topology` that it stands for.

    Args:
        name: as the study has it.
        directory: where the study is.

    Raises:
        UnitError: it cannot be read, or is no map; `key` is "file".
        ModuleNotFoundError: networkx is not installed.
    """
    path = (directory or Path()) / name
    try:
        text = text_of(path)
    except (OSError, UnicodeDecodeError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise _refused(f"cannot read {path}: {reason}") from None
    graph = _from_gml(text, path) if _is_gml(text) else _from_graphml(text, path)
    return _Map(graph, path).content()


def _refused(hint: str, allowed: str = ALLOWED) -> UnitError:
    return UnitError(allowed, hint, key="file")


def _is_gml(text: str) -> bool:
    lines = (line.strip() for line in text.splitlines())
    first = next((line for line in lines if line and not line.startswith("#")), "")
    return not first.startswith("<") and re.match(r"(Creator|Version|graph)\b", first) is not None


def _few(nodes: int, edges: int, path: Path) -> None:
    if nodes > MOST_NODES or edges > MOST_EDGES:
        allowed = f"a map of at most {MOST_NODES} nodes and {MOST_EDGES} edges"
        raise _refused(f"{path} has more; keep the nodes that you use", allowed)


def _from_gml(text: str, path: Path) -> Any:
    import networkx

    nodes, edges = (len(re.findall(rf"\b{it}\s*\[", text)) for it in ("node", "edge"))
    _few(nodes, edges, path)
    try:
        return networkx.parse_gml(text.splitlines(), label="id")
    except (networkx.NetworkXError, ValueError, RecursionError) as error:
        raise _refused(f"{path}: {visible(str(error))}") from None


def _from_graphml(text: str, path: Path) -> Any:
    """The graph of a GraphML file whose attributes are all text. A DTD is refused: entities may be
    made to expand without end (CWE-776), and no GraphML needs any.
    """  # noqa: D205
    import networkx

    def doctype(*_: object) -> None:
        raise _refused(f"{path} has a document type (DTD); leave it out")

    count = Counter[str]()

    def element(name: str, _: object) -> None:
        count[name.rpartition(":")[2]] += 1
        count["elements"] += 1
        if count["elements"] > MOST_ELEMENTS:
            allowed = f"a map of at most {MOST_ELEMENTS} elements"
            raise _refused(f"{path} has more; keep the nodes that you use", allowed)

    outline = xml.parsers.expat.ParserCreate()
    outline.StartDoctypeDeclHandler = doctype
    outline.StartElementHandler = element
    try:
        outline.Parse(text, True)
        root = ElementTree.fromstring(text)
    except (xml.parsers.expat.ExpatError, ElementTree.ParseError, ValueError) as error:
        if isinstance(error, UnitError):
            raise
        raise _refused(f"{path}: {error}") from None
    if not root.tag.endswith("graphml"):
        raise _refused(f"{path} begins with <{visible(root.tag.rpartition('}')[2])}>")
    if root.tag == "graphml":  # some programs leave the namespace out
        for part in root.iter():
            part.tag = f"{_GRAPHML}{part.tag}"
    if count["graph"] != 1:
        raise _refused(f"{path} has {count['graph']} graphs", "a file with one graph")
    _few(count["node"], count["edge"], path)
    _declared(root, path)
    for key in root.iter(f"{_GRAPHML}key"):
        key.set("attr.type", "string")
    try:
        with warnings.catch_warnings(action="ignore"):
            return networkx.parse_graphml(
                ElementTree.tostring(root, encoding="unicode"), force_multigraph=True
            )
    except (networkx.NetworkXError, ValueError, KeyError, RecursionError) as error:
        raise _refused(f"{path}: {visible(str(error))}") from None


def _declared(root: ElementTree.Element, path: Path) -> None:
    """Refuses what networkx would make up for: nodes that stand twice, ends that no node has."""
    nodes = Counter(node.get("id", "") for node in root.iter(f"{_GRAPHML}node"))
    twice = [node for node, times in nodes.items() if times > 1]
    if twice:
        raise _refused(f'{path} has the node "{visible(twice[0])}" twice', "nodes with an id each")
    for edge in root.iter(f"{_GRAPHML}edge"):
        for end in ("source", "target"):
            node = edge.get(end, "")
            if node not in nodes:
                hint = f'{path} has an edge whose {end} "{visible(node)}" is no node of it'
                raise _refused(hint, "edges between nodes of the file")


class _Element:
    """A node or an edge, with its attributes as text."""

    def __init__(self, what: str, attributes: Mapping[str, Any], path: Path, *, old: bool) -> None:
        self._what, self._path = what, path
        self._texts = {str(key): str(value).strip() for key, value in attributes.items()}
        self._old = old

    def first(self, names: Iterable[str]) -> tuple[str, str] | None:
        """The first of some attributes that there is, by its name."""
        return next(((name, self._texts[name]) for name in names if self._texts.get(name)), None)

    def wrong(self, name: str, allowed: str, hint: str = "") -> UnitError:
        text = visible(self._texts.get(name, ""))[:60]
        said = f'{self._path}: {self._what}: {name} is "{text}"'
        return _refused(f"{said}; {hint}" if hint else said, allowed)

    def number(self, name: str) -> Fraction:
        try:
            found = Decimal(self._texts[name])
        except InvalidOperation:
            raise self.wrong(name, "a number") from None
        if not found.is_finite() or abs(found.adjusted()) > 30:
            raise self.wrong(name, "a number")
        return Fraction(found)

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
        try:
            number = Decimal(match["number"])
        except InvalidOperation:
            raise self.wrong(name, allowed) from None
        if abs(number.adjusted()) > 30:
            raise self.wrong(name, allowed)
        return round(Fraction(number) * scale)

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
        names = [
            self.first(each) for each in (("Latitude", "latitude"), ("Longitude", "longitude"))
        ]
        if None in names:
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
    """A graph of networkx, read as a map."""

    def __init__(self, graph: Any, path: Path) -> None:
        self._graph, self._path = graph, path
        self._ids = {node: self._name(str(node)) for node in graph.nodes}
        if len(set(self._ids.values())) < len(self._ids):
            raise _refused(f"{path}: two nodes have the same id but for its length or quotes")
        parts = [data for _, data in graph.nodes(data=True)]
        parts += [data for _, _, data in graph.edges(data=True)]
        names = {str(name) for data in parts for name in data}
        self._old, self._new = bool(names & _OLD), bool(names & _NEW)

    def content(self) -> Content:
        places = dict(self._places())
        if not places:
            raise _refused(f"{self._path} has no nodes")
        return {"places": places, "edges": self._edges(places)}

    @staticmethod
    def _name(text: str) -> str:
        return visible(text).replace('"', "'").strip()[:_LONGEST_NAME] or "(no name)"

    def _element(self, what: str, data: Mapping[str, Any]) -> _Element:
        return _Element(what, data, self._path, old=self._old)

    def _places(self) -> Iterator[tuple[str, dict[str, Any]]]:
        for node, data in self._graph.nodes(data=True):
            name = self._ids[node]
            element = self._element(f"node {name}", data)
            loss = element.first(_LOSS)
            if loss and element.number(loss[0]):
                raise element.wrong(loss[0], "0: loss lies on edges")
            label = element.first(("label",))
            place: dict[str, Any] = {"label": self._name(label[1]) if label else ""}
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
        one_way = self._graph.is_directed()
        count: dict[str, int] = {}
        for one, other, data in self._graph.edges(data=True):
            ends = self._ids[one], self._ids[other]
            called = " - ".join(places[end]["label"] or end for end in ends)
            count[called] = count.get(called, 0) + 1
            name = called if count[called] == 1 else f"{called} {count[called]}"
            while name in edges:
                name += "'"
            element = self._element(f"edge {ends[0]} - {ends[1]}", data)
            edge: dict[str, Any] = {"between": ends}
            if one_way:
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
            rate = element.rate(("bandwidth", "LinkSpeedRaw"))
            if rate:
                edge["rate"] = rate
            edges[name] = edge
        return edges
