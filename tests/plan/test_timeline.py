from typing import Any

import pytest

from flashcrowd.base.errors import StudyError
from flashcrowd.plan.lower import lower
from flashcrowd.scenario import Scenario

MS = 10**6
S = 10**9


def changes(**timeline: dict[str, Any]) -> list[Any]:
    """The plan's changes for this timeline on a small network with all kinds of workloads."""
    document = {
        "title": "T",
        "network": {
            "rtt": "100 ms",
            "groups": {
                "seed": {},
                "homes": {"hosts": 2, "access": "ADSL 1/8"},
                "far": {"devices": {"ethernet": "10 ms"}},
            },
            "links": {"neck": {"rate": "1 Mbit/s"}},
            "paths": {"narrow": {"between": ["seed", "homes"], "through": ["neck"]}},
        },
        "workloads": {
            "swarm": {
                "kind": "swarm",
                "size": "1 MB",
                "populations": {
                    "seed": {"role": "seed", "group": "seed"},
                    "leechers": {"group": "homes", "upload": "50 kB/s"},
                },
            },
            "bulk": {"kind": "transfer", "from": "seed", "to": "homes", "size": "1 MB"},
        },
        "timeline": timeline,
    }
    return lower(Scenario.model_validate(document)).data["timeline"]


def change(path: str, to: Any, at: str = "5 s") -> dict[str, Any]:
    return {"at": at, "change": path, "to": to}


def test_a_link_changes_both_ways_unless_its_ways_differ():
    made = changes(dip=change("network.links.neck.rate", "500 kbit/s"))
    assert [(it["kind"], it["link"], it["at_ns"]) for it in made] == [
        ("link", 0, 5 * S),
        ("link", 1, 5 * S),
    ]
    assert made[0]["conditions"] == {
        "rate_bps": 500_000,
        "queue": {"kind": "drop-tail", "packets": 100, "bytes": None},
        "delay_ns": 0,
        "jitter": None,
        "loss": None,
        "framing": {"kind": "plain", "overhead_bytes": 0},
    }


def test_an_access_line_changes_for_each_host_of_the_group():
    made = changes(dip=change("network.groups.homes.access.up", "500 kbit/s"))
    assert [it["link"] for it in made] == [2, 4]


def test_the_round_trip_time_changes_wherever_it_holds():
    made = changes(far=change("network.rtt", "200 ms"))
    assert {it["kind"] for it in made} == {"core"}
    delays = {it["core"]: it["conditions"]["delay_ns"] // MS for it in made}
    assert set(delays.values()) == {100, 110}


def test_one_path_changes_without_the_others():
    made = changes(far=change("network.paths.narrow.rtt", "300 ms"))
    assert [it["conditions"]["delay_ns"] // MS for it in made] == [150, 150]


def test_changes_add_up_in_order_of_time():
    made = changes(
        second=change("network.links.neck.loss", "1 %", at="9 s"),
        first=change("network.links.neck.rate", "2 Mbit/s", at="8 s"),
    )
    assert [it["at_ns"] // S for it in made] == [8, 8, 9, 9]
    assert made[0]["conditions"]["loss"] is None
    assert made[2]["conditions"]["rate_bps"] == 2_000_000
    assert made[2]["conditions"]["loss"] is not None


def test_limits_change_and_end():
    path = "workloads.swarm.populations.leechers.upload"
    assert changes(free=change(path, "unlimited")) == [
        {"at_ns": 5 * S, "kind": "upload", "workload": 0, "population": 1, "upload_bps": None}
    ]
    assert changes(none=change(path, "0 B/s"))[0]["upload_bps"] == 0
    assert changes(slow=change("workloads.bulk.limit", "1 Mbit/s")) == [
        {"at_ns": 5 * S, "kind": "transfer-rate", "workload": number, "rate_bps": 10**6}
        for number in (1, 2)
    ]


def test_a_workload_stops_with_all_its_flows():
    assert changes(end={"at": "3 s", "stop": "bulk"}) == [
        {"at_ns": 3 * S, "kind": "stop", "workload": 1},
        {"at_ns": 3 * S, "kind": "stop", "workload": 2},
    ]


def test_a_change_to_the_same_value_is_no_change():
    assert changes(same=change("network.rtt", "0.1 s")) == []


@pytest.mark.parametrize(
    ("path", "to"),
    [
        ("network.groups.homes.hosts", 3),
        ("network.groups.homes.access", "none"),
        ("network.groups.homes.access.up", "unlimited"),
        ("network.groups.seed.access", "ADSL 1/8"),
        ("network.stack", "linux-2.6"),
        ("workloads.swarm.size", "2 MB"),
        ("workloads.bulk.stop", "9 s"),
        ("workloads.swarm.populations.leechers.departure", "at-once"),
    ],
)
def test_what_cannot_change_in_place_is_refused(path: str, to: Any):
    with pytest.raises(StudyError) as caught:
        changes(wrong=change(path, to))
    (problem,) = caught.value.problems
    assert problem.path == "timeline.wrong.change"
