"""Content servers in a study: what they are in a plan, and the mistakes that are named."""

import json
from pathlib import Path
from typing import Any

import pytest

from flashcrowd import _core
from flashcrowd.base.errors import StudyError
from flashcrowd.plan.lower import lower
from flashcrowd.scenario import Scenario
from flashcrowd.scenario.described import KINDS
from flashcrowd.scenario.origin import Origin
from flashcrowd.study import Study

S = 10**9
SETTINGS = json.loads(
    (Path(__file__).parents[2] / "crates" / "origin" / "tests" / "defaults.json").read_text()
)
"""The engine's, which a test of it reads too."""
TABLES = json.loads(_core.settings_schema())["tables"]


def document(**own: Any) -> dict[str, Any]:
    origin = {
        "kind": "origin",
        "host": "server",
        "files": "64 MiB",
        "populations": {"homes": {"group": "homes"}},
    }
    groups = {"server": {}, "homes": {"hosts": 3}, "others": {"hosts": 2}}
    workloads = {"origin": {**origin, **own}}
    return {"title": "T", "network": {"groups": groups}, "workloads": workloads}


def lowered(measures: dict[str, Any] | None = None, **own: Any) -> Any:
    made = document(**own)
    return lower(Scenario.model_validate({**made, "measures": measures or {}})).data


def problems(**own: Any) -> list[str]:
    with pytest.raises(StudyError) as caught:
        Study.from_dict({"format": 1, "seed": 1, "repeats": 1, **document(**own)})
    return [problem.path for problem in caught.value.problems]


def test_what_is_not_said_is_as_the_engine_has_it():
    (origin,) = lowered()["workloads"]
    assert origin == {
        "kind": "origin",
        "name": "origin",
        "host": 0,
        "transport": None,
        "files": {"count": 1, "size_bytes": 64 << 20, "zipf": 0.0},
        "settings": SETTINGS,
        "disk": TABLES["hard-disk"]["default"],
        "unsent_bytes": 65_536,
        "request_bytes": 400,
        "head_bytes": 300,
        "part_bytes": 150,
        "populations": [
            {
                "name": "homes",
                "hosts": [1, 2, 3],
                "in_order": False,
                "arrivals": {"kind": "flash-crowd", "start_ns": 0, "spread_ns": 10 * S},
            }
        ],
    }


@pytest.mark.parametrize("policy", KINDS["policy"])
def test_a_policy_by_name_has_the_engines_defaults(policy: str):
    (origin,) = lowered(policy=policy)["workloads"]
    assert origin["settings"]["scheduling"] == TABLES[policy]["default"]


@pytest.mark.parametrize("disk", KINDS["disk"])
def test_a_disk_by_name_has_the_engines_defaults(disk: str):
    (origin,) = lowered(disk=disk)["workloads"]
    assert origin["disk"] == TABLES[disk]["default"]


def test_what_is_said_is_in_the_plan():
    (origin,) = lowered(
        files={"count": 8, "size": "1 MiB", "zipf": 0.8},
        policy={"kind": "circus", "active": "4 MiB", "threshold": "90 %", "slide": "jump"},
        disk={"positioning": {"settle": "2 ms"}, "rate": "100 MB/s"},
        memory="16 MiB",
        transport="libutp",
        populations={
            "first": {"group": "homes", "hosts": 2, "arrivals": {"gap": "1 s"}},
            "second": {"group": ["homes", "others"], "in_order": True},
        },
    )["workloads"]
    assert origin["transport"] == {"utp": 0}
    assert origin["files"] == {"count": 8, "size_bytes": 1 << 20, "zipf": 0.8}
    scheduling = origin["settings"]["scheduling"]
    assert scheduling["active_bytes"] == 4 << 20
    assert (scheduling["threshold"], scheduling["slide"], scheduling["queue"]) == (0.9, "jump", 5)
    assert origin["disk"]["positioning"] == {
        "kind": "distance",
        "settle_ns": 2_000_000,
        "half_turn_ns": 4_170_000,
        "full_stroke_ns": 12_000_000,
    }
    assert origin["disk"]["rate_bps"] == 800_000_000
    first, second = origin["populations"]
    assert first["hosts"] == [1, 2]
    assert first["arrivals"] == {"kind": "poisson", "start_ns": 0, "gap_ns": S}
    assert (second["hosts"], second["in_order"]) == ([3, 4, 5], True)


def test_a_window_of_origins_stands_in_plans_with_one():
    window = {"from": "10 s", "to": "20 s"}
    assert {"table": "origins", "from_ns": 10 * S, "to_ns": 20 * S} in lowered(
        {"windows": {"origins": window}}
    )["measures"]["windows"]
    without: Any = lower(Scenario.model_validate(_transfer(window))).data
    assert "origins" not in [it["table"] for it in without["measures"]["windows"]]


def _transfer(window: dict[str, Any]) -> dict[str, Any]:
    made = document()
    flow = {"kind": "transfer", "from": "server", "to": "homes-1", "size": "1 MB"}
    return {**made, "workloads": {"bulk": flow}, "measures": {"window": window}}


@pytest.mark.parametrize(
    ("own", "place"),
    [
        ({"host": "homes"}, "host"),
        ({"host": "nobody"}, "host"),
        ({"transport": "carrier-pigeon"}, "transport"),
        ({"files": "0 B"}, "files"),
        ({"files": {"count": 0, "size": "1 MB"}}, "files.count"),
        ({"files": {"count": 2}}, "files.size"),
        ({"files": {"size": "1 MB", "zipf": -1.0}}, "files.zipf"),
        ({"files": {"count": 1000, "size": "1 TiB"}}, "files"),
        ({"files": {"count": 100, "size": "1 GB"}}, "disk"),
        ({"files": "16 TiB", "block": "4 KiB", "extent": "4 KiB"}, "files"),
        ({"block": "60 kB"}, "block"),
        ({"extent": "8 MiB"}, "extent"),
        ({"extent": "32 KiB"}, "extent"),
        ({"memory": "3 MiB"}, "memory"),
        ({"reads": 0}, "reads"),
        ({"patience": "0 s"}, "patience"),
        ({"unsent": "0 B"}, "unsent"),
        ({"policy": "elevator"}, "policy"),
        ({"policy": {"kind": "circus", "threshold": "110 %"}}, "policy.threshold"),
        ({"policy": {"kind": "circus", "ahead": 3}}, "policy.ahead"),
        ({"policy": {"kind": "relevance", "ahead": 65}}, "policy.ahead"),
        ({"disk": "tape"}, "disk"),
        ({"disk": {"kind": "ssd", "channels": 0}}, "disk.channels"),
        ({"disk": {"kind": "network-volume", "price": -1.0}}, "disk.price"),
        ({"disk": {"positioning": "an hour"}}, "disk.positioning"),
        ({"populations": {}}, "populations"),
        ({"populations": {"a": {"group": "nobody"}}}, "populations.a.group"),
        ({"populations": {"a": {"group": "server"}}}, "populations.a.group"),
        ({"populations": {"a": {"group": "homes", "hosts": 4}}}, "populations.a.hosts"),
        (
            {"populations": {"a": {"group": "homes"}, "b": {"group": "homes"}}},
            "populations.b.group",
        ),
        (
            {"populations": {"a": {"group": "homes", "arrivals": {"at": ["1 s"]}}}},
            "populations.a.arrivals.at",
        ),
        ({"populations": {"a": {"group": "homes", "role": "seed"}}}, "populations.a.role"),
    ],
)
def test_mistakes_are_named(own: dict[str, Any], place: str):
    (found,) = problems(**own)
    assert found.startswith(f"workloads.origin.{place}"), found


def test_an_origin_ends_by_itself_and_is_one_workload():
    origin = Origin.model_validate(document()["workloads"]["origin"])
    assert origin.ends
    assert origin.carried_by == "inherit"
