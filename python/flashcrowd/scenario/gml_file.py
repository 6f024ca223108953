"""Reads graphs from GML (M. Himsolt, 1996), as Shadow and the Internet Topology Zoo write it.

Each edge is one, also where two have the same ends: neither of them writes `multigraph 1`, which
other programs want then.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from flashcrowd.base.errors import quoted, visible
from flashcrowd.scenario.graph import (
    MOST_ELEMENTS,
    Arc,
    Attributes,
    Graph,
    refuse_many,
    refuse_twice,
    refused,
)

DEEPEST = 50
"""The depth to which lists may nest. A map needs two levels."""

_TOKEN = re.compile(
    r"""(?P<blank>\s+|\#[^\n]*)
    |(?P<key>[A-Za-z]\w*)
    |(?P<number>[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?(?![\w.]))
    |"(?P<text>[^"]*)"
    |(?P<open>\[)
    |(?P<close>\])
    """,
    re.VERBOSE | re.ASCII,
)
_WORDS = ("NAN", "INF")
_OF_PROGRAMS = ("Creator", "Version", "comment")
"""Keys that say which program wrote a file."""
_DRAWN = ("graphics", "LabelGraphics")
"""Lists about how a node or an edge is drawn."""


@dataclass
class _List:
    """A list between brackets: keys with texts or lists, in order."""

    key: str
    line: int
    items: list[tuple[str, str | _List, int]] = field(default_factory=list)


def read_gml(text: str, path: Path) -> Graph:
    """The graph of a GML file.

    Raises:
        UnitError: it is none; `key` is "file", and the hint names the line.
    """
    nodes, edges = (len(re.findall(rf"\b{it}\s*\[", text)) for it in ("node", "edge"))
    refuse_many(nodes, edges, path)
    found = Graph(path)
    graphs = []
    for key, value, _ in _parsed(text, path).items:
        if key == "graph" and isinstance(value, _List):
            graphs.append(value)
        elif key not in _OF_PROGRAMS:
            found.unread[f"{visible(key)} in the file"] += 1
    if len(graphs) != 1:
        raise refused(f"{path} has {len(graphs)} graphs", "a file with one graph")
    _read(graphs[0], found)
    return found.checked()


def _read(graph: _List, found: Graph) -> None:
    own = _attributes(_only_values(graph), found, "the graph")
    directed = own.pop("directed", "0")
    if directed not in ("0", "1"):
        raise refused(f"{found.path}: directed is {quoted(visible(directed))}", "0 or 1")
    own.pop("multigraph", "")
    found.attributes = own
    for key, value, line in graph.items:
        if not isinstance(value, _List):
            continue
        if key == "node":
            attributes = _attributes(value, found, "a node")
            name = attributes.pop("id", None)
            if name is None:
                raise refused(f"{found.path} line {line} has a node without id", "nodes with an id")
            if name in found.nodes:
                raise refuse_twice(name, found.path)
            found.nodes[name] = attributes
        elif key == "edge":
            attributes = _attributes(value, found, "an edge")
            ends = attributes.pop("source", None), attributes.pop("target", None)
            if ends[0] is None or ends[1] is None:
                hint = f"{found.path} line {line} has an edge without source or target"
                raise refused(hint, "edges with both ends")
            found.arcs.append(Arc((ends[0], ends[1]), directed == "1", attributes))
        elif key not in _DRAWN:
            found.unread[f"{visible(key)} [...] in the graph"] += 1


def _only_values(graph: _List) -> _List:
    items = [item for item in graph.items if not isinstance(item[1], _List)]
    return _List(graph.key, graph.line, items)


def _attributes(element: _List, found: Graph, place: str) -> Attributes:
    own: Attributes = {}
    for key, value, line in element.items:
        if isinstance(value, _List):
            if key not in _DRAWN:
                found.unread[f"{visible(key)} [...] in a {element.key}"] += 1
            continue
        if key in own:
            hint = f"{found.path} line {line}: {place} has {visible(key)} twice"
            raise refused(hint, "each attribute once")
        own[key] = value
    return own


def _parsed(text: str, path: Path) -> _List:
    """The whole file as a list, without calls in each other: a file may be as deep as it likes."""
    whole = _List("", 1)
    stack, key = [whole], ""
    for kind, value, line in _tokens(text, path):
        if kind == "key" and not (key and value in _WORDS):
            if key:
                raise _syntax(path, line, value, "a value comes after a key")
            key = value
        elif kind == "close":
            if key or len(stack) == 1:
                why = "a value comes after a key" if key else "no list is open"
                raise _syntax(path, line, "]", why)
            stack.pop()
        elif not key:
            raise _syntax(path, line, value, "a key comes before each value")
        elif kind == "open":
            if len(stack) > DEEPEST:
                raise _syntax(path, line, "[", f"lists at most {DEEPEST} deep in each other")
            below = _List(key, line)
            stack[-1].items.append((key, below, line))
            stack.append(below)
            key = ""
        else:
            stack[-1].items.append((key, value, line))
            key = ""
    if key or len(stack) > 1:
        what = f"the list {visible(stack[-1].key)} of line {stack[-1].line} has no end"
        raise refused(f"{path}: {f'the key {visible(key)} has no value' if key else what}")
    return whole


def _tokens(text: str, path: Path) -> Iterator[tuple[str, str, int]]:
    """Kind, text and line of each token."""
    place, line = 0, 1
    count = 0
    while place < len(text):
        match = _TOKEN.match(text, place)
        if match is None:
            raise _syntax(path, line, text[place : place + 20], "it is no key and no value")
        kind = match.lastgroup or ""
        if kind != "blank":
            count += 1
            if count > MOST_ELEMENTS:
                allowed = f"a map of at most {MOST_ELEMENTS} parts"
                raise refused(f"{path} has more; keep the nodes that you use", allowed)
            value = match[kind]
            yield kind, html.unescape(value) if kind == "text" else value, line
        line += match[0].count("\n")
        place = match.end()


def _syntax(path: Path, line: int, text: str, why: str) -> Exception:
    return refused(f"{path} line {line} has {quoted(visible(text))}: {why}")
