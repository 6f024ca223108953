"""Maps in plans: which way packets go, what becomes of an edge, and what is refused."""

import itertools
import json
from pathlib import Path
from typing import Any

import networkx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.scenario.test_graph_file import GML, graphml

from flashcrowd.base import paths
from flashcrowd.base.errors import StudyError
from flashcrowd.scenario.topology import Topology
from flashcrowd.study import Study

MS = 10**6

MAP: dict[str, Any] = {
    "places": {
        "h": {"label": "Harbour", "up": "10 Mbit/s", "down": "50 Mbit/s"},
        "m": {"label": "Hill"},
        "v": {"label": "Valley"},
    },
    "edges": {
        "loop": {"between": ["h", "h"], "delay": "2 ms", "loss": "0.5 %"},
        "h-m": {"between": ["h", "m"], "delay": "4 ms", "loss": "10 %"},
        "m-v": {"between": ["m", "v"], "delay": "15 ms", "loss": "2 %"},
        "far": {"between": ["h", "v"], "delay": "30 ms", "rate": "20 Mbit/s", "loss": "1 %"},
    },
}


def document(topology: Any = MAP, **groups: Any) -> dict[str, Any]:
    groups = groups or {
        "server": {"at": "Harbour"},
        "homes": {"hosts": 4, "at": ["Hill", "v", "Harbour"]},
    }
    first, *_, last = [*groups, *groups]
    return {
        "format": 1,
        "title": "Made for a test",
        "network": {"topology": topology, "groups": groups},
        "workloads": {
            "flow": {"kind": "transfer", "from": f"{first}-1", "to": f"{last}-1", "size": "1 MB"}
        },
    }


def plan_of(point: Any) -> dict[str, Any]:
    return dict(point.plan().data["network"])


def network(topology: Any = MAP, **groups: Any) -> dict[str, Any]:
    (point,) = Study.from_dict(document(topology, **groups)).points()
    point.plan().parsed.check()
    return plan_of(point)


def between(plan: dict[str, Any], one: str, other: str) -> tuple[list[str], int, float]:
    """Names of links, delay, and share lost, of the way between two hosts without their lines."""
    group = {host["name"]: host["group"] for host in plan["hosts"]}
    index = plan["core_of"][group[one] * len(plan["groups"]) + group[other]]
    core = plan["cores"][index]
    loss = core["conditions"]["loss"]
    names = [plan["links"][link]["name"] for link in core["links"]]
    return names, core["conditions"]["delay_ns"], loss["model"]["probability"] if loss else 0.0


def refused(made: dict[str, Any], **where: Any) -> list[Any]:
    with pytest.raises(StudyError) as error:
        Study.from_dict(made, **where)
    return error.value.problems


def test_hosts_are_dealt_over_the_places_of_their_group() -> None:
    plan = network()
    assert plan["groups"] == ["server", "homes", "homes", "homes"]
    assert [host["group"] for host in plan["hosts"]] == [0, 1, 2, 3, 1]
    assert [host["name"] for host in plan["hosts"]][1:] == [f"homes-{n}" for n in range(1, 5)]


def test_delays_add_up_and_what_gets_through_is_multiplied() -> None:
    plan = network()
    assert between(plan, "server-1", "homes-1") == ([], 4 * MS, 0.1)
    assert between(plan, "server-1", "homes-2") == ([], 19 * MS, pytest.approx(0.118))
    assert between(plan, "homes-2", "server-1") == ([], 19 * MS, pytest.approx(0.118))
    assert between(plan, "server-1", "homes-3") == ([], 2 * MS, 0.005)
    assert between(plan, "homes-1", "homes-4") == ([], 0, 0.0)


def test_an_edge_with_a_rate_is_a_link_each_way_that_all_share() -> None:
    direct = {**MAP, "routes": "direct", "queue": "7 packets"}
    plan = network(direct, a={"at": "h"}, b={"at": "v"}, c={"at": "v"})
    assert between(plan, "a-1", "b-1") == (["far"], 0, 0.0)
    assert between(plan, "c-1", "a-1") == (["far back"], 0, 0.0)
    made = {link["name"]: link["conditions"] for link in plan["links"]}
    for name in ("far", "far back"):
        assert made[name]["rate_bps"] == 20_000_000
        assert made[name]["delay_ns"] == 30 * MS
        assert made[name]["queue"]["packets"] == 7
        assert made[name]["loss"]["model"]["probability"] == 0.01
    assert sum(name.startswith("far") for name in made) == 2


def test_links_are_crossed_in_the_order_of_the_way() -> None:
    edges = {
        f"e{n}": {"between": [f"{n + 1}", f"{n}"], "delay": "1 ms", "rate": "1 Mbit/s"}
        for n in range(4)
    }
    line = {"places": {str(n): {} for n in range(5)}, "edges": edges}
    plan = network(line, a={"at": "0"}, b={"at": "4"})
    assert between(plan, "a-1", "b-1")[0] == ["e0 back", "e1 back", "e2 back", "e3 back"]
    assert between(plan, "b-1", "a-1")[0] == ["e3", "e2", "e1", "e0"]


def test_an_edge_that_nobody_crosses_is_no_link() -> None:
    assert not any(link["name"].startswith("far") for link in network()["links"])


def test_an_edge_with_jitter_is_a_link_without_a_queue() -> None:
    edge = {"between": ["h", "m"], "delay": "4 ms", "jitter": "2 ms"}
    plan = network({**MAP, "edges": {"x": edge}}, a={"at": "h"}, b={"at": "m"})
    assert between(plan, "a-1", "b-1") == (["x"], 0, 0.0)
    (link,) = [link for link in plan["links"] if link["name"] == "x"]
    assert link["conditions"]["rate_bps"] is None
    assert link["conditions"]["jitter"]["spread_ns"] == 2 * MS


def test_of_several_edges_the_best_is_taken() -> None:
    def way(**edges: dict[str, Any]) -> Any:
        made = {name: {"between": ["h", "m"], **edge} for name, edge in edges.items()}
        plan = network({**MAP, "edges": made}, a={"at": "h"}, b={"at": "m"})
        return between(plan, "a-1", "b-1")

    slow, fast = {"delay": "2 ms"}, {"delay": "1 ms", "loss": "50 %"}
    assert way(a=slow, b=fast) == ([], MS, 0.5)
    assert way(a=fast, b={"delay": "1 ms", "loss": "1 %"}) == ([], MS, 0.01)
    narrow, wide = ({"delay": "1 ms", "rate": rate} for rate in ("1 Mbit/s", "2 Mbit/s"))
    assert way(a=narrow, b=wide)[0] == ["b"]
    assert way(a=narrow, b={**narrow})[0] == ["a"]


def test_a_place_gives_its_hosts_a_line_unless_their_group_has_one() -> None:
    def rates(access: Any) -> list[Any]:
        plan = network(MAP, a={"at": "h", "access": access}, b={"at": "m"})
        host = plan["hosts"][0]
        return [plan["links"][it]["conditions"]["rate_bps"] for it in host["up"] + host["down"]]

    assert rates("none") == [10_000_000, 50_000_000]
    assert rates("ADSL 1/8") == [1_000_000, 8_000_000]
    assert rates({}) == [None, None]


def test_what_is_said_of_the_network_comes_on_top_and_a_path_of_ones_own_in_place() -> None:
    made = document()
    made["network"] |= {"rtt": "10 ms", "jitter": "1 ms"}
    made["network"]["groups"]["server"]["devices"] = {"ethernet": "3 ms", "loopback": "1 ms"}
    (point,) = Study.from_dict(made).points()
    plan = plan_of(point)
    assert between(plan, "server-1", "homes-1")[1] == (4 + 5 + 3) * MS
    assert between(plan, "homes-1", "homes-2")[1] == (15 + 5) * MS
    assert all(core["conditions"]["jitter"]["spread_ns"] == MS for core in plan["cores"])
    made["network"]["paths"] = {"own": {"between": ["server", "homes"], "rtt": "60 ms"}}
    (point,) = Study.from_dict(made).points()
    plan = plan_of(point)
    assert between(plan, "server-1", "homes-2")[1] == (30 + 3) * MS
    assert between(plan, "homes-2", "homes-1")[1] == (15 + 5) * MS


def test_one_way_edges_lead_one_way() -> None:
    ring = {
        "places": {name: {} for name in "abc"},
        "edges": {
            f"{a}{b}": {"between": [a, b], "one_way": True, "delay": "1 ms"}
            for a, b in ("ab", "bc", "ca")
        },
    }
    plan = network(ring, x={"at": "a"}, y={"at": "b"})
    assert between(plan, "x-1", "y-1")[1] == 1 * MS
    assert between(plan, "y-1", "x-1")[1] == 2 * MS


def test_the_documented_example_of_shadow(tmp_path: Path) -> None:
    """Two hosts at the one node of network_graph_spec.md: 10 ms each way, 100 Mbit/s each."""
    (tmp_path / "map.gml").write_text(GML)
    made = document("map.gml", hosts={"hosts": 2, "at": "node at 1.2.3.4"})
    made["workloads"]["flow"]["to"] = "hosts-2"
    (point,) = Study.from_dict(made, directory=tmp_path).points()
    plan = plan_of(point)
    assert between(plan, "hosts-1", "hosts-2") == ([], 10 * MS, 0.0)
    assert {link["conditions"]["rate_bps"] for link in plan["links"]} == {100_000_000}


def test_a_resolved_study_needs_no_file_and_results_belong_to_the_content(tmp_path: Path) -> None:
    nodes: dict[str, dict[str, object]] = {"a": {"label": "Á b.c"}, "b.2": {}}
    path = tmp_path / "map.graphml"
    path.write_text(graphml(nodes, [("a", "b.2", {"latency": "5 ms"})]))
    made = document("map.graphml", x={"at": "Á b.c"}, y={"at": "b.2"})
    study = Study.from_dict(made, directory=tmp_path)
    path.write_text(path.read_text().replace("5 ms", "6 ms"))
    other = Study.from_dict(made, directory=tmp_path)
    path.unlink()
    again = Study.from_dict(json.loads(json.dumps(study.resolved())))
    assert again.fingerprint() == study.fingerprint() != other.fingerprint()
    assert again.resolved() == study.resolved()
    assert again.resolved()["network"]["topology"]["source"] == "map.graphml"


def test_maps_and_what_they_say_are_swept(tmp_path: Path) -> None:
    for name, delay in (("one", "5 ms"), ("two", "7 ms")):
        text = graphml({"a": {}, "b": {}}, [("a", "b", {"latency": delay})])
        (tmp_path / f"{name}.graphml").write_text(text)
    made = document("one.graphml", x={"at": "a"}, y={"at": "b"})
    for key in ("network.topology", "network.topology.file"):
        swept = {**made, "sweep": {key: ["one.graphml", "two.graphml"]}}
        points = Study.from_dict(swept, directory=tmp_path).points()
        plans = [plan_of(point) for point in points]
        assert [between(plan, "x-1", "y-1")[1] for plan in plans] == [5 * MS, 7 * MS]
    edge = paths.join(["network", "topology", "edges", "a - b", "delay"])
    points = Study.from_dict({**made, "sweep": {edge: ["1 ms"]}}, directory=tmp_path).points()
    assert between(plan_of(points[0]), "x-1", "y-1")[1] == MS


def test_an_edge_changes_while_a_run_goes_on() -> None:
    made = document({**MAP, "routes": "direct"}, a={"at": "h"}, b={"at": "v"})
    change = {"at": "1 s", "change": "network.topology.edges.far.rate", "to": "1 Mbit/s"}
    (point,) = Study.from_dict({**made, "timeline": {"slow": change}}).points()
    kinds = [(it["kind"], it.get("link")) for it in point.plan().data["timeline"]]
    assert kinds == [("link", 0), ("link", 1)]
    made = document(MAP, a={"at": "h"}, b={"at": "v"})
    change = {"at": "1 s", "change": "network.topology.edges.m-v.delay", "to": "10 min"}
    (problem,) = refused({**made, "timeline": {"away": change}})
    assert problem.path == "timeline.away.change"


@pytest.mark.parametrize(
    ("change", "path", "said"),
    [
        ({"groups.server.at": "Harbor"}, "network.groups.server.at", 'did you mean "Harbour"?'),
        ({"groups.server.at": "none"}, "network.groups.server.at", "every host"),
        ({"topology": "none"}, "network.groups.server.at", "network.topology"),
        ({"topology.places.m.label": "Harbour"}, "network.groups.server.at", "choose one"),
        ({"topology.places": {}, "topology.edges": {}}, "network.topology.places", ""),
        ({"loss": "1 %"}, "network.loss", ""),
        ({"rtt": {"file": "iplane"}}, "network.rtt", ""),
        ({"topology.edges.loop.between": ["h", "x"]}, "network.topology.edges.loop.between", ""),
        ({"topology.edges.far.delay": "distance"}, "network.topology", "leave-out"),
        ({"links": {"far": {"rate": "1 Mbit/s"}}}, "network.topology.edges.far", ""),
        ({"topology.file": "x.graphml"}, "network.topology.file", "not both"),
        ({"topology.file": 3}, "network.topology.file", ""),
        ({"topology.detour": "-5 %"}, "network.topology.detour", ""),
        ({"topology.places.h.coordinates": [0, 181]}, "network.topology.places.h.coordinates", ""),
    ],
)
def test_what_is_wrong_is_told_with_its_place(change: dict[str, Any], path: str, said: str) -> None:
    made = document()
    for key, value in change.items():
        made = paths.replaced(made, ["network", *key.split(".")], value)
    problems = refused(made)
    assert path in [problem.path.split("[")[0] for problem in problems]
    assert any(said in problem.hint for problem in problems)


def test_places_without_a_way_are_named() -> None:
    edges = {name: MAP["edges"][name] for name in ("h-m",)}
    (problem,) = refused(document({**MAP, "edges": edges}))
    assert problem.path == "network.topology"
    assert problem.value == "none from Harbour to Valley; Hill to Valley"
    (problem,) = refused(document({**MAP, "edges": edges | {"m-v": MAP["edges"]["m-v"]},
                                   "routes": "direct"}))  # fmt: skip
    assert problem.value == "none from Harbour to Valley"
    assert problem.hint == 'say `routes = "shortest"`'


def test_edges_without_latency_and_coordinates_may_be_left_out() -> None:
    edges = {**MAP["edges"], "far": {"between": ["h", "v"]}}
    plan = network({**MAP, "edges": edges, "unplaced": "leave-out"})
    assert between(plan, "server-1", "homes-2")[1] == 19 * MS
    lonely = {"far": {"between": ["h", "v"]}, "h-m": MAP["edges"]["h-m"]}
    (problem,) = refused(document({**MAP, "edges": lonely, "unplaced": "leave-out"}))
    assert problem.hint == "edges without latency and coordinates are left out"


def test_too_many_places_are_refused() -> None:
    places = {str(n): {} for n in range(201)}
    edges = {str(n): {"between": ["0", str(n)], "delay": "1 ms"} for n in range(1, 201)}
    made = document({"places": places, "edges": edges}, a={"hosts": 201, "at": list(places)})
    made["workloads"]["flow"]["to"] = "a-2"
    (problem,) = refused(made)
    assert problem.value == "201 places"


pairs = st.tuples(st.integers(0, 7), st.integers(0, 7))
some_edges = st.lists(st.tuples(pairs, st.integers(0, 50), st.booleans()), max_size=25)


@given(some_edges, st.booleans())
def test_ways_are_the_shortest_there_are(
    edges: list[tuple[tuple[int, int], int, bool]], both: bool
) -> None:
    """Against the lengths that Floyd and Warshall's algorithm finds."""
    made = {
        f"e{n}": {"between": [str(a), str(b)], "delay": f"{delay} ms",
                  "one_way": one_way and not both}
        for n, ((a, b), delay, one_way) in enumerate(edges)
    }  # fmt: skip
    topology = Topology.model_validate({"places": {str(n): {} for n in range(8)}, "edges": made})
    graph = networkx.MultiDiGraph()
    graph.add_nodes_from(map(str, range(8)))
    for edge in topology.edges.values():
        one, other = edge.between
        weight = topology.delay_ns(edge)
        graph.add_edge(one, other, weight=weight)
        if not edge.one_way:
            graph.add_edge(other, one, weight=weight)
    lengths = networkx.floyd_warshall(graph)
    used = [str(n) for n in range(8)]
    ways = topology.ways(used)
    for one, other in itertools.permutations(used, 2):
        way = ways[one, other]
        if way is None:
            assert lengths[one][other] == float("inf")
            continue
        assert sum(topology.delay_ns(topology.edges[it]) for it, _ in way) == lengths[one][other]
        here = one
        for name, against in way:
            begin, end = topology.edges[name].between[:: -1 if against else 1]
            assert begin == here
            here = end
        assert here == other
        if both:
            assert ways[other, one] == tuple((name, not it) for name, it in reversed(way))
