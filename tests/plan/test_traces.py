"""Traces in plans: once each, followed by index, and changed in place."""

from pathlib import Path
from typing import Any

import pytest

from flashcrowd.base.errors import StudyError
from flashcrowd.engines import PlanRejected
from flashcrowd.engines.simulation import Simulator
from flashcrowd.plan.lower import lower
from flashcrowd.plan.plan import Plan
from flashcrowd.study import Study

CSV = {"kind": "rates", "points": [(0, 10**6), (10**9, 0)], "length_ns": 2 * 10**9}
MAHIMAHI = {"kind": "opportunities", "at_ms": [0, 5, 5, 20], "bytes": 1500}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "a.csv").write_text("time [s],rate [Mbit/s]\n0,1\n1,0\n")
    (tmp_path / "b.csv").write_text("t [ms],r [bit/s]\n0,1000000\n1000,0\n")
    (tmp_path / "m").write_text("0\n5\n5\n20\n")
    return tmp_path


def study(folder: Path, **timeline: dict[str, Any]) -> Study:
    document = {
        "format": 1,
        "title": "T",
        "network": {
            "groups": {
                "homes": {
                    "hosts": 3,
                    "access": {"up": {"file": "m"}, "down": {"file": "a.csv"}, "line": "ADSL 1/8"},
                },
                "servers": {"hosts": 2, "access": {"down": {"file": "m"}, "framing": "ethernet"}},
            },
            "links": {
                "line": {"rate": {"file": "b.csv"}},
                "plain": {"rate": "2 Mbit/s", "back": {"rate": "1 Mbit/s"}},
            },
        },
        "workloads": {
            "t": {"kind": "transfer", "from": "homes-1", "to": "servers-1", "stop": "5 s"}
        },
        "timeline": timeline,
    }
    return Study.from_dict(document, directory=folder)


def test_a_trace_stands_once_in_a_plan(folder: Path) -> None:
    network = study(folder).points()[0].plan().data["network"]
    # A full packet of an Ethernet line has 1538 B: an opportunity of another size.
    assert network.get("traces") == [CSV, MAHIMAHI, {**MAHIMAHI, "bytes": 1538}]
    assert {link["name"]: link.get("trace") for link in network["links"]} == {
        "line": 0, "line back": 0, "plain": None, "plain back": None,
        "homes-1 up": 1, "homes-1 down": 0, "homes-2 up": 1, "homes-2 down": 0,
        "homes-3 up": 1, "homes-3 down": 0,
        "servers-1 up": None, "servers-1 down": 2, "servers-2 up": None, "servers-2 down": 2,
    }  # fmt: skip
    rates = {link["name"]: link["conditions"]["rate_bps"] for link in network["links"]}
    assert rates["homes-1 up"] is None
    assert network["links"][4]["conditions"]["queue"].get("packets") == 200


def test_a_plan_without_traces_says_nothing_of_them(folder: Path) -> None:
    text = Study.load(Path(__file__).parents[2] / "studies" / "dumbbell.toml")
    assert '"trace' not in text.points()[0].plan().to_json()
    # And one with some is read back.
    plan = study(folder).points()[0].plan()
    assert Plan.from_json(plan.to_json()).digest() == plan.digest()


def change(path: str, to: Any, at: str = "1 s") -> dict[str, Any]:
    return {"at": at, "change": path, "to": to}


def test_the_timeline_puts_traces_into_place(folder: Path) -> None:
    plan = (
        study(
            folder,
            on=change("network.links.plain.rate", {"file": "m"}),
            new=change("network.links.line.rate", {"file": "synthetic-mobile"}, at="2 s"),
            longer=change("network.links.line.delay", "9 ms", at="3 s"),
            off=change("network.links.line.rate", "1 Mbit/s", at="4 s"),
        )
        .points()[0]
        .plan()
        .data
    )
    made = [
        (it["at_ns"] // 10**9, it["link"], it.get("trace"), it["conditions"]["rate_bps"])
        for it in plan["timeline"]
        if it["kind"] == "link"
    ]
    assert made == [
        (1, 2, 1, None),
        (2, 0, 3, None), (2, 1, 3, None),
        (3, 0, 3, None), (3, 1, 3, None),
        (4, 0, None, 10**6), (4, 1, None, 10**6),
    ]  # fmt: skip
    traces = plan["network"].get("traces", [])
    assert [trace["kind"] for trace in traces] == [
        "rates",
        "opportunities",
        "opportunities",
        "rates",
    ]
    assert len(traces[3].get("points", [])) == 240


def test_a_link_does_not_gain_a_trace_that_had_no_rate(folder: Path) -> None:
    with pytest.raises(StudyError, match="neither gains nor loses its rate"):
        study(folder, on=change("network.groups.servers.access.up", {"file": "m"}))


def test_a_bad_file_in_the_timeline_is_named(folder: Path) -> None:
    with pytest.raises(StudyError) as caught:
        study(folder, on=change("network.links.plain.rate", {"file": "none"}))
    [problem] = caught.value.problems
    assert problem.path == "timeline.on.to"
    assert "none" in problem.hint


def test_a_resolved_timeline_needs_no_file(folder: Path) -> None:
    made = study(folder, on=change("network.links.plain.rate", {"file": "m"}))
    again = Study.from_dict(made.resolved(), directory="/nowhere")
    assert again.fingerprint() == made.fingerprint()


@pytest.mark.parametrize(
    ("trace", "message"),
    [
        ({"kind": "rates", "points": [], "length_ns": None}, "at least one entry"),
        ({"kind": "rates", "points": [[0, 0]], "length_ns": 5}, "a rate of more than zero"),
        ({"kind": "opportunities", "at_ms": [3, 2], "bytes": 1500}, "entry 1 of a trace"),
        ({"kind": "opportunities", "at_ms": [3], "bytes": 0}, "more than zero bytes"),
    ],
)
def test_an_engine_refuses_a_bad_trace(folder: Path, trace: dict[str, Any], message: str) -> None:
    plan = study(folder).points()[0].plan()
    data = {**plan.data, "network": {**plan.data["network"], "traces": [trace] * 3}}
    with pytest.raises(PlanRejected, match=message):
        Simulator().needs([Plan(data).parsed])  # type: ignore[arg-type]


def test_an_engine_refuses_an_index_beyond_the_traces(folder: Path) -> None:
    plan = study(folder).points()[0].plan()
    data = {**plan.data, "network": {**plan.data["network"], "traces": [CSV]}}
    with pytest.raises(PlanRejected, match=r'network.links."homes-1 up".trace: 1 does not exist'):
        Simulator().needs([Plan(data).parsed])  # type: ignore[arg-type]


def test_equal_scenarios_give_equal_plans(folder: Path) -> None:
    one, other = (lower(study(folder).scenario).to_json() for _ in range(2))
    assert one == other
