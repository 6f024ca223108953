"""Maps from GraphML and GML: Shadow's documented examples, the Topology Zoo's form, and what is wrong."""  # noqa: E501

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashcrowd.errors import is_plain
from flashcrowd.scenario.files import Files
from flashcrowd.scenario.graph import MOST_ELEMENTS, MOST_NODES
from flashcrowd.scenario.graph_file import read_map
from flashcrowd.scenario.topology import FIBRE_KM_PER_S, Topology, great_circle_km
from flashcrowd.units import Rate, Share, Span, UnitError

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
    path = folder / "map"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_map("map", Files(folder))


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
