"""Reads graphs from GraphML (http://graphml.graphdrawing.org/specification.html).

Defaults of keys apply to each element of their kind that has no value of its own; a single edge may
have a direction. What would change a network and is not read is refused: hyperedges, nested graphs,
parts that stand elsewhere (locators). All else is counted.
"""

from __future__ import annotations

import xml.parsers.expat
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from flashcrowd.base.errors import quoted, visible
from flashcrowd.base.units import UnitError
from flashcrowd.scenario.graph import (
    MOST_ELEMENTS,
    Arc,
    Attributes,
    Graph,
    refuse_many,
    refuse_twice,
    refused,
)

_SPACE = "graphml.graphdrawing.org/xmlns"
_REFUSED = {
    "hyperedge": "edges between two nodes each",
    "locator": "a file that holds all of its graph",
}
_KINDS = ("all", "graphml", "graph", "node", "edge", "hyperedge", "port", "endpoint")
_WAYS = {"directed": True, "undirected": False}
_OF_XML = {
    "graph": {"id", "edgedefault"},
    "node": {"id"},
    "edge": {"id", "source", "target", "directed", "sourceport", "targetport"},
}
"""Attributes that a tag has. Those called `parse.…` are hints for programs."""
_YES_NO = {"true": True, "1": True, "false": False, "0": False}

Element = ElementTree.Element


@dataclass(frozen=True)
class _Key:
    """A `<key>`: the elements that its attribute is for, its name, its default."""

    kind: str
    name: str
    default: str | None


def read_graphml(text: str, path: Path) -> Graph:
    """The graph of a GraphML file.

    Raises:
        UnitError: it is none, or has parts without which it is another network; `key` is "file".
    """
    count = _counted(text, path)
    root = ElementTree.fromstring(text)
    if _local(root) != "graphml":
        raise refused(f"{path} begins with <{visible(root.tag.rpartition('}')[2])}>")
    if count["graph"] != 1:
        nested = "; graphs within nodes or edges are not read" if count["graph"] > 1 else ""
        raise refused(f"{path} has {count['graph']} graphs{nested}", "a file with one graph")
    refuse_many(count["node"], count["edge"], path)
    for part, allowed in _REFUSED.items():
        if count[part]:
            parts = part if count[part] == 1 else f"{part}s"
            raise refused(f"{path} has {count[part]} {parts}", allowed)
    return _Reader(path, root).graph()


def _counted(text: str, path: Path) -> Counter[str]:
    """How many elements of each kind there are.

    A DTD is refused: entities may be made to expand without end (CWE-776), and no GraphML needs
    any.
    """

    def doctype(*_: object) -> None:
        raise refused(f"{path} has a document type (DTD); leave it out")

    count = Counter[str]()

    def element(name: str, _: object) -> None:
        count[name.rpartition(":")[2]] += 1
        count["elements"] += 1
        if count["elements"] > MOST_ELEMENTS:
            allowed = f"a map of at most {MOST_ELEMENTS} elements"
            raise refused(f"{path} has more; keep the nodes that you use", allowed)

    outline = xml.parsers.expat.ParserCreate()
    outline.StartDoctypeDeclHandler = doctype
    outline.StartElementHandler = element
    try:
        outline.Parse(text, True)
        ElementTree.fromstring(text)
    except UnitError:
        raise
    except (xml.parsers.expat.ExpatError, ElementTree.ParseError, ValueError) as error:
        raise refused(f"{path}: {error}") from None
    return count


def _local(element: Element) -> str:
    """The name of an element of GraphML, also where a program left the namespace out; else ""."""
    space, _, name = element.tag.removeprefix("{").rpartition("}")
    return name if not space or _SPACE in space else ""


class _Reader:
    def __init__(self, path: Path, root: Element) -> None:
        self._path, self._root = path, root
        self._found = Graph(path)
        self._keys: dict[str, _Key] = {}

    def graph(self) -> Graph:
        graph = None
        for part in self._root:
            kind = _local(part)
            if kind == "key":
                self._key(part)
            elif kind == "graph":
                graph = part
            elif kind != "desc":
                self._unread(part, "the file")
        if graph is None:
            raise refused(
                f"{self._path} has its graph within another part", "a file with one graph"
            )
        self._read(graph)
        return self._found.checked()

    def _key(self, key: Element) -> None:
        name, kind = key.get("id", ""), key.get("for", "all")
        place = f"{self._path}: key {quoted(visible(name))}"
        if name in self._keys:
            raise refused(f"{place} stands twice", "keys with an id each")
        if kind not in _KINDS:
            raise refused(f"{place} is for {quoted(visible(kind))}", f"for one of {_KINDS}")
        default = None
        for part in key:
            if _local(part) == "default" and default is None and not len(part):
                default = (part.text or "").strip()
            elif _local(part) != "desc":
                self._unread(part, "a key")
        attribute = key.get("attr.name") or key.get("yfiles.type") or name
        self._keys[name] = _Key(kind, attribute, default)

    def _read(self, graph: Element) -> None:
        said = graph.get("edgedefault")
        if said not in (None, *_WAYS):
            hint = f"{self._path}: edgedefault is {quoted(visible(said or ''))}"
            raise refused(hint, '"directed" or "undirected"')
        if said is None:
            self._found.unread["graph without edgedefault, read as undirected"] += 1
        self._found.usual = dict(self._usual("all"))
        usual = {kind: dict(self._usual(kind)) for kind in ("graph", "node", "edge")}
        self._found.attributes = self._attributes(graph, "the graph", usual["graph"])
        self._rest_of_tag(graph, "the graph")
        self._text(graph, "the graph")
        for part in graph:
            kind = _local(part)
            if kind == "node":
                self._node(part, usual["node"])
            elif kind == "edge":
                self._edge(part, usual["edge"], directed=_WAYS[said or "undirected"])
            elif kind not in ("data", "desc"):
                self._unread(part, "the graph")

    def _usual(self, kind: str) -> Iterator[tuple[str, str]]:
        """Defaults of a kind of elements."""
        seen: Attributes = {}
        for key in self._keys.values():
            if key.kind != kind or key.default is None:
                continue
            if seen.setdefault(key.name, key.default) != key.default:
                hint = f"{self._path} has two defaults for {visible(key.name)}"
                raise refused(hint, "one default for each attribute")
            yield key.name, key.default

    def _node(self, node: Element, usual: Attributes) -> None:
        name = node.get("id")
        if name is None:
            raise refused(f"{self._path} has a node without id", "nodes with an id each")
        if name in self._found.nodes:
            raise refuse_twice(name, self._path)
        self._found.nodes[name] = self._attributes(node, f"node {visible(name)}", usual)
        self._rest(node, "a node")

    def _edge(self, edge: Element, usual: Attributes, *, directed: bool) -> None:
        ends = edge.get("source", ""), edge.get("target", "")
        place = f"edge {visible(ends[0])} - {visible(ends[1])}"
        said = edge.get("directed")
        if said is not None and said not in _YES_NO:
            hint = f"{self._path}: {place}: directed is {quoted(visible(said))}"
            raise refused(hint, '"true" or "false"')
        way = directed if said is None else _YES_NO[said]
        self._found.arcs.append(Arc(ends, way, self._attributes(edge, place, usual)))
        for port in ("sourceport", "targetport"):
            if edge.get(port) is not None:
                self._found.unread[f"{port} of an edge"] += 1
        self._rest(edge, "an edge")

    def _attributes(self, element: Element, place: str, usual: Attributes) -> Attributes:
        own: Attributes = {}
        for data in element:
            if _local(data) != "data":
                continue
            key = self._keys.get(data.get("key", ""))
            if key is None:
                hint = f"{self._path}: {place} has the key {quoted(visible(data.get('key', '')))}"
                raise refused(hint, "keys that a <key> of the file declares")
            if len(data):
                self._found.unread[f"{key.name} with XML in it"] += 1
                continue
            if key.name in own:
                hint = f"{self._path}: {place} has {visible(key.name)} twice"
                raise refused(hint, "each attribute once")
            own[key.name] = (data.text or "").strip()
            default = usual.get(key.name) or self._found.usual.get(key.name)
            if default and not own[key.name]:
                hint = f"{self._path}: {place} has an empty {visible(key.name)}"
                raise refused(hint, f"a value, or no data for the default {quoted(default)}")
        return {**usual, **own}

    def _rest(self, element: Element, place: str) -> None:
        self._rest_of_tag(element, place)
        self._text(element, place)
        for part in element:
            if _local(part) not in ("data", "desc"):
                self._unread(part, place)

    def _text(self, element: Element, place: str) -> None:
        """A text between the parts of an element is none of its values."""
        if any((it or "").strip() for it in (element.text, *(part.tail for part in element))):
            self._found.unread[f"text in {place}"] += 1

    def _rest_of_tag(self, element: Element, place: str) -> None:
        for name in element.attrib.keys() - _OF_XML[_local(element)]:
            if not name.startswith("parse."):
                self._found.unread[f'{visible(name)[:40]}="..." in the tag of {place}'] += 1

    def _unread(self, part: Element, place: str) -> None:
        name = visible(part.tag.rpartition("}")[2])[:40]
        self._found.unread[f"<{name}> in {place}"] += 1
