"""Fuzz the readers of maps: a GraphML or GML file gives the right graph or an error.

    python fuzz/maps.py [--inputs 10000000] [--seed 1]

Each input is a map whose graph is known. It comes as it is, cut, with one thing in it that is
refused, or with characters changed at random. A whole map gives its graph, a cut or wrong one an
error; a changed one gives a graph or an error, and nothing else. The inputs follow from the seed
alone.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

from flashcrowd.base.units import UnitError
from flashcrowd.scenario.gml_file import read_gml
from flashcrowd.scenario.graph import Attributes, Graph
from flashcrowd.scenario.graphml_file import read_graphml

PATH = Path("map")
NAMES = {
    "node": ["label", "host_bandwidth_up", "Latitude", "Country"],
    "edge": ["latency", "packet_loss", "bandwidth", "jitter", "LinkNote"],
}
TEXTS = ["1", "0.5", "10 ms", "1 Gbit", "a b", "x & y <z>", "é", "-7.25"]
WRONG = {
    "graphml": [
        '<hyperedge/>', '<node id="n0"/>', '<node/>', '<edge source="n0" target="lost"/>',
        '<edge source="n0" target="n0" directed="perhaps"/>', '<data key="unknown">1</data>',
        '<node id="inner"><graph edgedefault="directed"/></node>', '<locator/>', "<node", "&lost;",
    ],
    "gml": [
        "node [ id 0 ]", "node [ label \"x\" ]", "edge [ source 0 target 99 ]",
        "edge [ source 0 ]", "node [ id 98 label \"a\" label \"b\" ]", "]", "node [", "7", "lost",
    ],
}  # fmt: skip
"""Parts of a graph that make the map one that is refused."""


@dataclass
class Known:
    """A graph, as it should be read."""

    nodes: dict[str, Attributes] = field(default_factory=dict)
    arcs: list[tuple[tuple[str, str], bool, Attributes]] = field(default_factory=list)

    def is_same(self, other: Graph) -> bool:
        """Whether a graph that was read is this one."""
        arcs = [(arc.ends, arc.directed, arc.attributes) for arc in other.arcs]
        return self.nodes == other.nodes and self.arcs == arcs


def graph(draw: random.Random, prefix: str) -> Known:
    """A small graph; several edges may have the same ends."""
    known = Known()
    ids = [f"{prefix}{number}" for number in range(draw.randint(1, 5))]
    known.nodes = {name: attributes(draw, "node") for name in ids}
    for _ in range(draw.randint(0, 7)):
        ends = draw.choice(ids), draw.choice(ids)
        known.arcs.append((ends, False, attributes(draw, "edge")))
    return known


def attributes(draw: random.Random, kind: str) -> Attributes:
    """Some attributes of an element."""
    return {name: draw.choice(TEXTS) for name in NAMES[kind] if draw.random() < 0.5}


def graphml(draw: random.Random, wrong: str) -> tuple[str, Known]:
    """A map in GraphML, with defaults; single edges may have a direction."""
    known = graph(draw, "n")
    default = draw.random() < 0.5
    known.arcs = [
        (ends, default if draw.random() < 0.5 else not default, own) for ends, _, own in known.arcs
    ]
    usual = {kind: attributes(draw, kind) for kind in NAMES}
    keys = [
        f'<key id="{kind}.{name}" for="{kind}" attr.name="{name}" attr.type="string">'
        + (f"<default>{escape(usual[kind][name])}</default>" if name in usual[kind] else "")
        + "</key>"
        for kind, names in NAMES.items()
        for name in names
    ]
    parts = [
        f'<node id="{name}">{_data("node", own, usual["node"])}</node>'
        for name, own in known.nodes.items()
    ] + [
        f'<edge source="{one}" target="{other}"'
        + ("" if way == default else f' directed="{str(way).lower()}"')
        + f'>{_data("edge", own, usual["edge"])}</edge>'
        for (one, other), way, own in known.arcs
    ]  # fmt: skip
    if wrong:
        parts.append(wrong)
    for kind, each in (("node", known.nodes.values()), ("edge", [arc[2] for arc in known.arcs])):
        for own in each:
            own.update({**usual[kind], **own})
    way = "directed" if default else "undirected"
    body = "".join(parts)
    graph_of = f'<graph edgedefault="{way}">{body}</graph>'
    space = 'xmlns="http://graphml.graphdrawing.org/xmlns"'
    return f"<graphml {space}>{''.join(keys)}{graph_of}</graphml>", known


def _data(kind: str, own: Attributes, usual: Attributes) -> str:
    """What stands in an element: a value that is the default may be left out."""
    said = {name: text for name, text in own.items() if usual.get(name) != text}
    return "".join(f'<data key="{kind}.{name}">{escape(it)}</data>' for name, it in said.items())


def gml(draw: random.Random, wrong: str) -> tuple[str, Known]:
    """A map in GML, without `multigraph 1`."""
    known = graph(draw, "")
    directed = draw.random() < 0.5
    known.arcs = [(ends, directed, own) for ends, _, own in known.arcs]
    parts = [f"node [ id {name} {_pairs(own)} ]" for name, own in known.nodes.items()]
    parts += [
        f"edge [ source {one} target {other} {_pairs(own)} ]" for (one, other), _, own in known.arcs
    ]
    if wrong:
        parts.append(wrong)
    body = "\n".join(parts)
    return f"graph [\ndirected {int(directed)}\n{body}\n]", known


def _pairs(own: Attributes) -> str:
    return " ".join(f'{name} "{escape(text)}"' for name, text in own.items())


def mutated(draw: random.Random, text: str) -> str:
    """A text with some places changed."""
    new = list(text)
    for _ in range(draw.randint(1, 4)):
        at = draw.randrange(len(new) + 1)
        how = draw.randrange(3)
        if how == 0:
            del new[at : at + draw.randint(1, 20)]
        elif how == 1:
            new[at:at] = draw.choice(
                ['"', "<", ">", "&", "[", "]", "\0", " ", "é", "0", "</graph>"]
            )
        else:
            start = draw.randrange(len(new) + 1)
            new[at:at] = new[start : start + draw.randint(1, 40)]
    return "".join(new)


def check(draw: random.Random) -> None:
    """One input.

    Raises:
        AssertionError: the reader takes it for something else than it is.
    """
    kind, form = draw.random(), draw.choice(["graphml", "gml"])
    wrong = draw.choice(WRONG[form]) if 0.5 <= kind < 0.75 else ""
    text, known = (graphml if form == "graphml" else gml)(draw, wrong)
    if 0.25 <= kind < 0.5:
        text = text[: draw.randrange(len(text))]
    elif kind >= 0.75:
        text = mutated(draw, text)
    try:
        found = (read_graphml if form == "graphml" else read_gml)(text, PATH)
    except UnitError:
        assert kind >= 0.25, text
        return
    assert kind >= 0.75 or (kind < 0.25 and known.is_same(found)), (text, known, found)


def main() -> int:
    """Runs it; gives the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--inputs", type=int, default=10_000_000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    draw, begin = random.Random(given.seed), time.monotonic()
    for count in range(1, given.inputs + 1):
        check(draw)
        if count % 100_000 == 0:
            print(
                f"{count} inputs, {count / (time.monotonic() - begin):.0f} per second", flush=True
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
