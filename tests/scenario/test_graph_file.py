"""Maps from GraphML and GML: Shadow's documented examples, the Topology Zoo's form, and what is wrong."""  # noqa: E501

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashcrowd.base.errors import StudyError, is_plain
from flashcrowd.base.units import Rate, Share, Span, UnitError
from flashcrowd.scenario.files import Files
from flashcrowd.scenario.graph import MOST_ELEMENTS, MOST_NODES
from flashcrowd.scenario.graph_file import read_map
from flashcrowd.scenario.topology import FIBRE_KM_PER_S, Topology, great_circle_km
from flashcrowd.study import Study

SPACE = 'xmlns="http://graphml.graphdrawing.org/xmlns"'


def graphml(
    nodes: Mapping[str, Mapping[str, object]],
    edges: Sequence[tuple[str, str, Mapping[str, object]]],
    *,
    directed: bool = False,
    types: str = "string",
) -> str:
    keys = {("node", name) for node in nodes.values() for name in node}
    keys |= {("edge", name) for *_, edge in edges for name in edge}
    declared = "".join(
        f'<key id="{of}.{name}" for="{of}" attr.name="{name}" attr.type="{types}"/>'
        for of, name in sorted(keys)
    )

    def data(of: str, values: Mapping[str, object]) -> str:
        return "".join(f'<data key="{of}.{key}">{it}</data>' for key, it in values.items())

    body = "".join(f'<node id="{name}">{data("node", it)}</node>' for name, it in nodes.items())
    body += "".join(
        f'<edge source="{a}" target="{b}">{data("edge", it)}</edge>' for a, b, it in edges
    )
    way = "directed" if directed else "undirected"
    return f'<graphml {SPACE}>{declared}<graph edgedefault="{way}">{body}</graph></graphml>'


def read(text: str | bytes, folder: Path) -> dict[str, Any]:
    return read_and_told(text, folder)[0]


def read_and_told(text: str | bytes, folder: Path) -> tuple[dict[str, Any], str]:
    """A map, and what of it is told as not read."""
    path, files = folder / "map", Files(folder)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    found = read_map("map", files)
    return found, ", ".join(doubt.value for doubt in files.doubts)


def test_the_example_of_shadow_1(tmp_path: Path) -> None:
    """docs/3.2-Network-Config.md: one node of 2251 and 17038 KiB/s, a loop of 50 ms, lost 0.001."""
    nodes = {"poi-1": {"ip": "0.0.0.0", "bandwidthup": 2251, "bandwidthdown": 17038,
                       "countrycode": "US", "packetloss": "0.0"}}  # fmt: skip
    found = read(
        graphml(nodes, [("poi-1", "poi-1", {"latency": "50.0", "packetloss": "0.001"})]), tmp_path
    )
    place = found["places"]["poi-1"]
    assert (place["up"], place["down"]) == (Rate("2251 KiB/s"), Rate("17038 KiB/s"))
    (edge,) = found["edges"].values()
    assert edge == {
        "between": ("poi-1", "poi-1"), "delay": Span("50 ms"), "loss": Share("0.1 %"),
    }  # fmt: skip


GML = """graph [
  directed 0
  node [
    id 0
    label "node at 1.2.3.4"
    host_bandwidth_down "100 Mbit"
    host_bandwidth_up "100 Mbit"
  ]
  edge [
    source 0
    target 0
    label "path from 1.2.3.4 to 1.2.3.4"
    latency "10 ms"
    jitter "0 ms"
    packet_loss 0.0
  ]
]
"""


def test_the_form_of_shadow_2(tmp_path: Path) -> None:
    """docs/network_graph_spec.md: 100 Mbit each way, a loop of 10 ms."""
    found = read(GML, tmp_path)
    assert found["places"]["0"] == {
        "label": "node at 1.2.3.4", "up": Rate("100 Mbit/s"), "down": Rate("100 Mbit/s"),
    }  # fmt: skip
    (edge,) = found["edges"].values()
    assert edge == {"between": ("0", "0"), "delay": Span("10 ms")}


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("10", "10 s"), ("10 s", "10 s"), ("10s", "10 s"), ("10   sec", "10 s"),
        ("1  m", "60 s"), ("1  min", "60 s"), ("10 ms", "10 ms"), ("10 μs", "10 us"),
        ("10 us", "10 us"), ("10 millisecond", "10 ms"), ("10 milliseconds", "10 ms"),
        ("12.5 ms", "12.5 ms"), ("7 nanoseconds", "7 ns"),
    ],
)  # fmt: skip
def test_times_are_read_as_shadow_reads_them(tmp_path: Path, text: str, wanted: str) -> None:
    """The cases of Shadow's own tests of `units.rs`, and two more."""
    edges = [("a", "b", {"latency": text, "packet_loss": 0})]
    (edge,) = read(graphml({"a": {}, "b": {}}, edges), tmp_path)["edges"].values()
    assert edge["delay"] == Span(wanted)


@pytest.mark.parametrize(
    ("text", "bits"),
    [
        ("10", 10), ("10 bit", 10), ("10bit", 10), ("10  Kbit", 10**4), ("10 Kibit", 10 * 2**10),
        ("10 Mbit", 10**7), ("10 megabit", 10**7), ("10 megabits", 10**7), ("1 Gibit", 2**30),
        ("10 Mbit/s", 10**7), ("2 gigabits", 2 * 10**9),
    ],
)  # fmt: skip
def test_bandwidths_are_read_as_shadow_reads_them(tmp_path: Path, text: str, bits: int) -> None:
    nodes = {"a": {"host_bandwidth_up": text}}
    assert read(graphml(nodes, []), tmp_path)["places"]["a"]["up"].bps == bits


def test_the_form_of_the_topology_zoo(tmp_path: Path) -> None:
    nodes = {
        "0": {"label": "Los Angeles", "Latitude": 34.05, "Longitude": -118.24, "Internal": 1,
              "Country": "United States"},
        "1": {"label": "Somewhere", "Internal": 0},
    }  # fmt: skip
    edges = [
        ("0", "1", {"LinkSpeedRaw": "1.0E10", "LinkLabel": "10 Gbps", "LinkNote": "c"}),
        ("0", "1", {"LinkType": "OC-192"}),
    ]
    found = read(graphml(nodes, edges), tmp_path)
    assert found["places"] == {
        "0": {"label": "Los Angeles", "coordinates": (34.05, -118.24)},
        "1": {"label": "Somewhere"},
    }
    assert found["edges"] == {
        "Los Angeles - Somewhere": {"between": ("0", "1"), "rate": Rate("10 Gbit/s")},
        "Los Angeles - Somewhere 2": {"between": ("0", "1")},
    }


def test_directed_maps_have_edges_of_one_way(tmp_path: Path) -> None:
    edges = [("a", "b", {"latency": "1 ms"}), ("b", "a", {"latency": "2 ms"})]
    found = read(graphml({"a": {}, "b": {}}, edges, directed=True), tmp_path)["edges"]
    assert [edge["one_way"] for edge in found.values()] == [True, True]


def test_other_writings_of_the_same_file(tmp_path: Path) -> None:
    plain = graphml({"a": {"label": "Ä"}}, [("a", "a", {"latency": "1 ms"})])
    expected = read(plain, tmp_path)
    assert read(b"\xef\xbb\xbf" + plain.encode(), tmp_path) == expected
    assert read(plain.replace(SPACE, ""), tmp_path) == expected
    assert read(f'<?xml version="1.0" encoding="utf-8"?>\n<!-- x -->{plain}', tmp_path) == expected
    with_default = plain.replace('attr.type="string"/>', 'attr.type="string"></key>')
    assert read(with_default, tmp_path) == expected


BOMB = '<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]>'
TWO = "<graph edgedefault='directed'/><graph edgedefault='directed'/>"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no element found"),
        ("hello", "syntax error"),
        ("<a/>", "begins with <a>"),
        (f"<graphml {SPACE}/>", "0 graphs"),
        (f"<graphml {SPACE}>{TWO}</graphml>", "2 graphs"),
        (graphml({}, []), "has no nodes"),
        (BOMB + graphml({"a": {}}, []), "document type"),
        (graphml({str(n): {} for n in range(MOST_NODES + 1)}, []), "keep the nodes"),
        (graphml({"a": {"host_bandwidth_up": "9 MB"}}, []), 'node a: host_bandwidth_up is "9 MB"'),
        (graphml({"a": {"bandwidth_up": "0 Mbit"}}, []), 'bandwidth_up is "0 Mbit"'),
        (graphml({"a": {"Latitude": "91", "Longitude": "0"}}, []), 'Latitude is "91"'),
        (graphml({"a": {"Latitude": "x", "Longitude": "0"}}, []), 'Latitude is "x"'),
        (graphml({"a": {"packetloss": "0.5"}}, []), "node a: packetloss"),
        (graphml({"a": {}}, [("a", "a", {"latency": "5"})]), "neither ms nor s"),
        (graphml({"a": {}}, [("a", "a", {"latency": "5 parsec"})]), "no unit 'parsec'"),
        (graphml({"a": {}}, [("a", "a", {"latency": "-5 ms"})]), 'edge a - a: latency is "-5 ms"'),
        (graphml({"a": {}}, [("a", "a", {"latency": "2 h"})]), 'latency is "2 h"'),
        (graphml({"a": {}}, [("a", "a", {"packet_loss": "1.5"})]), 'packet_loss is "1.5"'),
        (graphml({"a": {}}, [("a", "a", {"packet_loss": "nan"})]), 'packet_loss is "nan"'),
        ("graph [\n node [ id 0 ]\n node [ id 0 ]\n]\n", '"0" twice'),
        (graphml({"a": {}}, []).replace("</graph>", '<node id="a"/></graph>'), '"a" twice'),
        (graphml({"a": {}}, [("a", "b", {})]), 'target "b" is no node'),
        ("graph [\n node [\n", ": "),
        ("graph [" + "node [ id 0 ] " * (MOST_NODES + 1) + "]", "keep the nodes"),
        (f"<graphml {SPACE}>{'<data>' * 99_999}{'</data>' * 99_999}</graphml>", "0 graphs"),
        (f"<graphml {SPACE}>{'<data/>' * (MOST_ELEMENTS + 1)}</graphml>", "keep the nodes"),
        ("graph [\n" + "a [\n" * 9999 + "]\n" * 10_000, ": "),
        (b"\xff\xfe<\x00", "not UTF-8"),
    ],
    ids=lambda it: it[:40] if isinstance(it, str) else None,
)  # fmt: skip
def test_what_is_wrong_is_told_with_its_place(tmp_path: Path, text: Any, said: str) -> None:
    with pytest.raises(UnitError) as refused:
        read(text, tmp_path)
    assert refused.value.key == "file"
    assert said in refused.value.hint
    assert str(tmp_path / "map") in refused.value.hint


@pytest.mark.parametrize("name", ["no/such.graphml", ".", "/dev/zero"])
def test_a_file_that_cannot_be_read_is_told(tmp_path: Path, name: str) -> None:
    with pytest.raises(UnitError) as refused:
        read_map(name, Files(tmp_path))
    assert "cannot read" in refused.value.hint


texts = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=20)


names = st.sampled_from(
    ["label", "latency", "Latitude", "Longitude", "bandwidth", "packet_loss", "bandwidthup"]
)


@given(st.dictionaries(names, texts))
def test_any_attributes_are_read_or_refused_in_words(
    tmp_path_factory: pytest.TempPathFactory, values: dict[str, str]
) -> None:
    import html

    escaped: dict[str, object] = {key: html.escape(it) for key, it in values.items()}
    text = graphml({"a": escaped, "b": escaped}, [("a", "b", escaped)])
    try:
        found = read(text, tmp_path_factory.mktemp("map"))
    except UnitError as error:
        said = f"{error.allowed} {error.hint}"
        assert all(is_plain(char) for char in said)
    else:
        Topology.model_validate(found)


@given(st.binary(max_size=300))
def test_any_bytes_are_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, content: bytes
) -> None:
    folder = tmp_path_factory.mktemp("bytes")
    for text in (content, b"graph [\n node [\n id 0\n" + content, b"<graphml>" + content):
        with pytest.raises(UnitError):
            read(text, folder)


def degrees(whole: int, minutes: int) -> float:
    return whole + minutes / 60


def test_great_circles_are_those_that_others_compute() -> None:
    # Ed Williams, Aviation Formulary: LAX to JFK is 0.623585 radians.
    lax, jfk = (degrees(33, 57), -degrees(118, 24)), (degrees(40, 38), -degrees(73, 47))
    assert great_circle_km(lax, jfk) / 6371.0088 == pytest.approx(0.623585, abs=1e-6)
    # Y. Cariel, "Distance between two cities along the great circle": Jerusalem to Los Angeles.
    assert great_circle_km((31.75, 35.25), (34, -118)) == pytest.approx(12_185, rel=2e-4)
    # A quarter of a meridian is 10,007.5 km on a sphere of this radius; poles and the date line.
    assert great_circle_km((0, 0), (90, 123)) == pytest.approx(10_007.557, abs=1e-3)
    assert great_circle_km((0, 179), (0, -179)) == pytest.approx(222.390, abs=1e-3)
    assert great_circle_km((5, 5), (5, 5)) == 0


def test_light_takes_five_microseconds_a_kilometre() -> None:
    """ITU-T G.114 (2003), annex A, plans with 5 us a kilometre of fibre, repeaters included."""
    a_kilometre = 1e6 / FIBRE_KM_PER_S
    assert a_kilometre == pytest.approx(4.8974, abs=1e-4)
    topology = Topology.model_validate(
        {
            "detour": "50 %",
            "places": {"a": {"coordinates": [0, 0]}, "b": {"coordinates": [0, 180]}},
            "edges": {"e": {"between": ["a", "b"]}},
        }
    )
    assert topology.delay_ns(topology.edges["e"]) == pytest.approx(
        1.5 * 20_015.1 * 4897.4, rel=1e-4
    )


VALUES = {
    "node": {
        "label": ["X", "Y"], "host_bandwidth_up": ["5 Mbit", "1 Gbit"],
        "host_bandwidth_down": ["9 Mbit"], "Latitude": ["1.5", "-80"], "Longitude": ["170", "2e1"],
    },
    "edge": {
        "latency": ["5 ms", "2 s"], "jitter": ["1 ms"], "packet_loss": ["0.5", "0.25"],
        "bandwidth": ["8 Mbit", "9 kbit"],
    },
}  # fmt: skip
"""Attributes that change a network, with some values."""


@given(data=st.data(), ways=st.tuples(*[st.sampled_from([None, True, False])] * 3))
def test_an_attribute_means_the_same_as_default_and_written_out(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, ways: tuple[bool | None, ...]
) -> None:
    """Defaults for nodes, edges or all, and a direction for all or for each edge."""
    folder = tmp_path_factory.getbasetemp()
    keys, usual = "", {"node": dict[str, str](), "edge": dict[str, str]()}
    for kind, names in VALUES.items():
        for name, values in names.items():
            default = data.draw(st.none() | st.sampled_from(values))
            for_all = data.draw(st.booleans())
            said = "" if default is None else f"<default>{default}</default>"
            keys += f'<key id="{name}" for="{"all" if for_all else kind}" attr.name="{name}">'
            keys += f"{said}</key>"
            if default is not None:
                usual[kind][name] = default

    def own(kind: str) -> dict[str, str]:
        given = {
            name: data.draw(st.none() | st.sampled_from(it)) for name, it in VALUES[kind].items()
        }
        if kind == "node" and not {
            **usual[kind],
            **{k: v for k, v in given.items() if v},
        }.keys() >= {"Latitude", "Longitude"}:
            given |= {"Latitude": "1", "Longitude": "2"}
        return {name: value for name, value in given.items() if value is not None}

    def written(kind: str, values: Mapping[str, str]) -> str:
        return "".join(f'<data key="{name}">{it}</data>' for name, it in values.items())

    nodes = {name: own("node") for name in "abc"}
    edges = [(*ends, own("edge"), way) for ends, way in zip(("ab", "bc", "ba"), ways, strict=True)]
    directed = data.draw(st.booleans())

    def file(*, whole: bool) -> str:
        body = ""
        for name, values in nodes.items():
            shown = {**usual["node"], **values} if whole else values
            body += f'<node id="{name}">{written("node", shown)}</node>'
        for one, other, values, way in edges:
            said = way if way is not None else directed if whole else None
            mark = "" if said is None else f' directed="{str(said).lower()}"'
            shown = {**usual["edge"], **values} if whole else values
            body += f'<edge source="{one}" target="{other}"{mark}>{written("edge", shown)}</edge>'
        usual_way = ("directed" if directed else "undirected") if not whole else "undirected"
        declared = re.sub("<default>.*?</default>", "", keys) if whole else keys
        return (
            f'<graphml {SPACE}>{declared}<graph edgedefault="{usual_way}">{body}</graph></graphml>'
        )

    short, told = read_and_told(file(whole=False), folder)
    whole, _ = read_and_told(file(whole=True), folder)
    assert short == whole
    assert told == ""
    for one, other, values, way in edges:
        expected = {**usual["edge"], **values}
        ends = (one, other) if (directed if way is None else way) else tuple(sorted((one, other)))
        mine = [it for it in short["edges"].values() if it["between"] == ends]
        assert mine
        if "bandwidth" in expected:
            assert any("rate" in it for it in mine)


def test_a_default_reaches_the_plan(tmp_path: Path) -> None:
    """A slow line by default is slow: it was a fast one while defaults were not read."""
    keys = '<key id="b" for="edge" attr.name="bandwidth"><default>1 Mbit</default></key>'
    keys += '<key id="l" for="all" attr.name="latency"><default>20 ms</default></key>'
    body = '<node id="a"/><node id="b"/><edge source="a" target="b"/>'
    text = f'<graphml {SPACE}>{keys}<graph edgedefault="undirected">{body}</graph></graphml>'
    (tmp_path / "m.graphml").write_text(text)
    network = plan({"file": "m.graphml"}, ("a", "b"), tmp_path)["network"]
    found = [link["conditions"] for link in network["links"] if link["name"].startswith("a - b")]
    assert [(it["rate_bps"], it["delay_ns"]) for it in found] == [(10**6, 20 * 10**6)] * 2


def plan(topology: object, at: tuple[str, str], folder: Path) -> Any:
    document = {
        "format": 1,
        "title": "T",
        "network": {
            "topology": topology,
            "groups": {"one": {"at": at[0]}, "other": {"at": at[1], "hosts": 2}},
        },
        "workloads": {"t": {"kind": "transfer", "from": "one", "to": "other", "size": "1 MB"}},
    }
    return Study.from_dict(document, directory=folder).points()[0].plan().data


def test_edges_of_a_map_may_be_called_anything(tmp_path: Path) -> None:
    """Labels that end as access lines and ways back are called in tables."""
    labels = {"a": "X", "b": "Y back", "c": "Y", "d": "up", "e": "x down"}
    edges = [(a, b, {"latency": "1 ms", "bandwidth": "1 Mbit", "packet_loss": "0"})
             for a, b in ("ab", "ac", "ad", "ae")]  # fmt: skip
    nodes = {name: {"label": label} for name, label in labels.items()}
    (tmp_path / "m").write_text(graphml(nodes, edges))
    for end in "bcde":
        links = plan("m", ("a", end), tmp_path)["network"]["links"]
        assert len({link["name"] for link in links}) == len(links)
        assert any(link["name"].startswith(f"X - {labels[end]}") for link in links)


def test_edges_of_ones_own_may_not_be_called_as_a_line_is(tmp_path: Path) -> None:
    places = {"a": {}, "b": {}}
    edge = {"between": ["a", "b"], "delay": "1 ms", "rate": "1 Mbit/s"}
    for name in ("other-3 up", "third-1 down", "other up", "wind up", "other-2 back"):
        plan({"places": places, "edges": {name: edge}}, ("a", "b"), tmp_path)
    for name in ("other-2 up", "one-1 down"):
        with pytest.raises(StudyError, match="a name that no link and no line has"):
            plan({"places": places, "edges": {name: edge}}, ("a", "b"), tmp_path)
    with pytest.raises(StudyError, match="a name that no link and no line has"):
        plan({"places": places, "edges": {"x": edge, "x back": edge}}, ("a", "b"), tmp_path)


TWIN_EDGES = """Creator "somebody"
graph [
  {extra}
  node [ id 0 label "A &#38; B" graphics [ x 1.0 y 2.0 ] ]
  node [ id 1 label "C" ]
  edge [ source 0 target 1 latency "5 ms" bandwidth "1 Mbit" ]
  edge [ source 0 target 1 latency "9 ms" bandwidth "2 Mbit" ]
  edge [ source 1 target 0 latency "7 ms" packet_loss 1.0E-2 ]
]
"""


@pytest.mark.parametrize("extra", ["", "multigraph 1", "multigraph 0", "# a comment", 'label "N"'])
def test_several_edges_of_a_gml_between_two_nodes_need_no_word(tmp_path: Path, extra: str) -> None:
    found, told = read_and_told(TWIN_EDGES.format(extra=extra), tmp_path)
    assert told == ""
    assert [it["delay"] for it in found["edges"].values()] == [
        Span("5 ms"),
        Span("9 ms"),
        Span("7 ms"),
    ]
    assert list(found["edges"]) == ["A & B - C", "A & B - C 2", "A & B - C 3"]
    one_way = read(TWIN_EDGES.format(extra="directed 1"), tmp_path)["edges"]
    assert [it["between"] for it in one_way.values()] == [("0", "1"), ("0", "1"), ("1", "0")]
    assert all(it["one_way"] for it in one_way.values())


INSIDE = (
    '<node id="a">{node}</node><node id="b"/><edge source="a" target="b"{more}>{edge}</edge>{graph}'
)


def odd(node: str = "", edge: str = "", graph: str = "", more: str = "", keys: str = "") -> str:
    body = INSIDE.format(node=node, edge=edge, graph=graph, more=more)
    return f'<graphml {SPACE}>{keys}<graph edgedefault="undirected">{body}</graph></graphml>'


KEY = '<key id="k" for="edge" attr.name="latency">{}</key>'
FIVE = KEY.format("<default>5 ms</default>")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (odd(graph='<hyperedge><endpoint node="a"/></hyperedge>' * 2), "2 hyperedges"),
        (odd(node='<graph edgedefault="directed"/>'), "2 graphs; graphs within nodes or edges"),
        (odd(node='<locator href="x"/>'), "1 locator"),
        (odd(edge='<data key="nowhere">1</data>'), 'edge a - b has the key "nowhere"'),
        (odd(more=' directed="maybe"'), 'edge a - b: directed is "maybe"'),
        (odd(keys=KEY.format("") * 2), 'key "k" stands twice'),
        (odd(keys='<key id="k" for="edges"/>'), 'key "k" is for "edges"'),
        (odd(keys=FIVE, edge='<data key="k"/>'), "edge a - b has an empty latency"),
        (odd(keys=FIVE, edge='<data key="k">1 ms</data>' * 2), "edge a - b has latency twice"),
        (odd(keys=FIVE + FIVE.replace("5", "6").replace('"k"', '"l"')), "two defaults for latency"),
        (odd().replace("undirected", "both"), 'edgedefault is "both"'),
        (graphml({"a": {"Latitude": "1"}}, []), "node a: Latitude is"),
        (graphml({"a": {"bandwidth_up": "1 bit", "bandwidthup": "1"}}, []), "bandwidthup too"),
        (graphml({"a": {"Latitude": "1_0", "Longitude": "1"}}, []), 'Latitude is "1_0"'),
        (graphml({"a": {}}, [("a", "a", {"packet_loss": "\u0660"})]), "packet_loss is"),
        ("graph [ node [ id 0 ] node [ id 1 x ] ]", 'line 1 has "]": a value comes after a key'),
        ("graph [ node [ id 0 ]", "the list graph of line 1 has no end"),
        ("graph [ node [ id 0 ] ]\ngraph [ ]", "has 2 graphs"),
        ('graph [ node [ label "x" ] ]', "node without id"),
        ("graph [ node [ id 0 ] edge [ source 0 ] ]", "without source or target"),
        ("graph [ node [ id 0 id 1 ] ]", "line 1: a node has id twice"),
        ("graph [ directed 2 node [ id 0 ] ]", 'directed is "2"'),
        ('graph [ node [ id 0 label "\0" ] ]', "line 1 has"),
        ("graph [ node [ id 1_0 ] ]", "it is no key and no value"),
    ],
    ids=range(24),
)
def test_what_would_be_another_network_is_refused(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(UnitError) as refused:
        read(text, tmp_path)
    assert refused.value.key == "file"
    assert said in refused.value.hint


OTHER = '<key id="k" for="all" attr.name="{}"/>'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (odd(node='<port name="p"/>' * 3, more=' sourceport="p"'),
         "3 × <port> in a node, 1 × sourceport of an edge"),
        (odd(keys=OTHER.format("delay"), edge='<data key="k">5</data>'), "delay of 1 of 1 edges"),
        (odd(keys=OTHER.format("latency"), node='<data key="k">5</data>'),
         "latency of 1 of 2 nodes"),
        (odd(keys=OTHER.format("bandwidth"), graph='<data key="k">5</data>'),
         "bandwidth of the graph"),
        (odd(keys=OTHER.format("preferdirectpaths"), graph='<data key="k">True</data>'),
         "preferdirectpaths of the graph"),
        (odd(keys=OTHER.format("label"), node='<data key="k"><y:N xmlns:y="u">x</y:N></data>'),
         "1 × label with XML in it"),
        (odd(edge="<weight/>"), "1 × <weight> in an edge"),
        (odd(more=' bandwidth="1 Mbit"'), '1 × bandwidth="..." in the tag of an edge'),
        (odd().replace(' edgedefault="undirected"', ""), "graph without edgedefault"),
        (odd(keys=OTHER.format("LinkSpeed"), edge='<data key="k">10</data>'),
         "LinkSpeed of 1 of 1 edges"),
        ("graph [ node [ id 0 delay 5 port [ id 1 ] ] group [ ] ] table 5",
         "delay of 1 of 1 nodes, 1 × group [...] in the graph, 1 × port [...] in a node, 1 × table "
         "in the file"),
        (odd(keys=FIVE.replace("edge", "all").replace("latency", "delay")), "1 × default delay"),
        (odd(keys=KEY.format(""), edge='<data key="k"> </data>'), "empty latency of 1 of 1 edges"),
        ('graph [ node [ id 0 ] edge [ source 0 target 0 packet_loss "" ] ]',
         "empty packet_loss of 1 of 1 edges"),
        (odd(edge="10 ms"), "1 × text in an edge"),
        (odd(node="<desc/>10 Mbit"), "1 × text in a node"),
        (odd(graph="10 ms"), "1 × text in the graph"),
    ],
    ids=range(17),
)  # fmt: skip
def test_what_is_not_read_is_told_and_counted(tmp_path: Path, text: str, said: str) -> None:
    assert said in read_and_told(text, tmp_path)[1]


def test_names_and_drawings_are_not_told(tmp_path: Path) -> None:
    nodes = {"0": {"label": "A", "Country": "B", "Internal": 1, "type": "IX", "ip": "0.0.0.0"}}
    edges = [("0", "0", {"LinkSpeedRaw": "1e9", "LinkLabel": "1 G", "LinkType": "x", "id": "e1"})]
    assert read_and_told(graphml(nodes, edges), tmp_path)[1] == ""
