import copy
from typing import Any

import pytest

from flashcrowd.base.errors import StudyError
from flashcrowd.base.units import Share, Span
from flashcrowd.scenario import Bernoulli
from flashcrowd.study import Study, seed_of

BASE: dict[str, Any] = {
    "format": 1,
    "title": "T",
    "network": {"groups": {"a": {}, "b": {"hosts": 2, "access": "ADSL 1/8"}}},
    "workloads": {
        "swarm": {
            "kind": "swarm",
            "size": "1 MB",
            "populations": {
                "seed": {"role": "seed", "group": "a"},
                "leechers": {"group": "b"},
            },
        }
    },
}


def study(**parts: Any) -> Study:
    return Study.from_dict({**copy.deepcopy(BASE), **parts})


def values(made: Study) -> list[dict[str, Any]]:
    return [dict(point.values) for point in made.points()]


def test_a_study_without_a_sweep_is_one_point():
    (point,) = study().points()
    assert (point.index, point.values, point.label) == (0, {}, "T")


def test_a_table_combines_all_values_and_the_last_path_varies_fastest():
    made = study(sweep={"network": {"loss": ["0 %", "5 %"]}, "network.rtt": ["0 ms", "9 ms"]})
    assert values(made) == [
        {"network.loss": "0 %", "network.rtt": "0 ms"},
        {"network.loss": "0 %", "network.rtt": "9 ms"},
        {"network.loss": "5 %", "network.rtt": "0 ms"},
        {"network.loss": "5 %", "network.rtt": "9 ms"},
    ]
    assert [point.index for point in made.points()] == [0, 1, 2, 3]
    assert made.points()[3].label == "network.loss = 5 %, network.rtt = 9 ms"
    assert made.points()[3].scenario.network.rtt == Span("9 ms")


def test_paths_in_one_table_of_a_list_vary_side_by_side():
    axes = [
        {"network.rtt": ["0 ms", "9 ms"], "network.loss": ["5 %", "0 %"]},
        {"network.stack": ["linux-6", "linux-2.6"]},
    ]
    assert [tuple(each.values()) for each in values(study(sweep=axes))] == [
        ("0 ms", "5 %", "linux-6"),
        ("0 ms", "5 %", "linux-2.6"),
        ("9 ms", "0 %", "linux-6"),
        ("9 ms", "0 %", "linux-2.6"),
    ]


def test_paths_reach_into_everything_that_is_resolved():
    made = study(
        profiles={"mine": {"base": "modern"}},
        sweep=[
            {
                "network.groups.b.access.up_queue": ["10 packets", "20 packets"],
                "workloads.swarm.populations.leechers.arrivals.spread": ["1 s", "2 s"],
                'stacks."linux-6".min_rto': ["300 ms", "400 ms"],
                "profiles.mine.choker.slots": [4, "mainline-by-rate"],
                "stop.horizon": ["1 h", "2 h"],
            }
        ],
    )
    second = made.points()[1].scenario
    access = second.network.groups["b"].access
    assert access is not None
    assert (str(access.up_queue), str(access.up)) == ("20 packets", "1 Mbit/s")
    assert second.stacks["linux-6"].min_rto == Span("400 ms")
    assert second.profiles["mine"].choker.slots == "mainline-by-rate"
    assert made.points()[1].plan().data["stacks"][0]["min_rto_ns"] == 400 * 10**6


def test_whole_tables_may_vary():
    made = study(sweep={"network.groups.b.access": ["none", "LAN 100", {"up": "3 Mbit/s"}]})
    rates = [
        link["conditions"]["rate_bps"]
        for point in made.points()
        for link in point.plan().data["network"]["links"]
    ]
    assert rates == [10**8, 10**8, 10**8, 10**8, 3 * 10**6, None, 3 * 10**6, None]


def test_tables_are_the_same_by_all_that_they_say():
    """Not by their beginnings, which are what errors show of them."""
    line = {"up": "3 Mbit/s", "down": "30 Mbit/s", "up_queue": "100 packets"}
    tables = [line | {"down_queue": f"{length} packets"} for length in (100, 200)]
    assert len(study(sweep={"network.groups.b.access": tables}).points()) == 2
    again = [*tables, dict(reversed(tables[1].items()))]
    with pytest.raises(StudyError, match="each value once"):
        study(sweep={"network.groups.b.access": again})


@pytest.mark.parametrize(
    ("sweep", "allowed"),
    [
        ([{}], "a table of paths"),
        ([{"network.rtt": ["0 ms", "9 ms"]}, {}], "a table of paths"),
        ([{"network.rtt": ["1 ms", "1 ms"], "network.loss": ["5 %", "5 %"]}], "each value once"),
        (
            [{"network.rtt": ["1 ms", "2 ms", "1 ms"], "network.loss": ["5 %", "5 %", "5 %"]}],
            "each value once",
        ),
    ],
)
def test_each_point_differs_from_all_others(sweep: list[Any], allowed: str) -> None:
    with pytest.raises(StudyError, match=allowed):
        study(sweep=sweep)


def test_values_side_by_side_may_stand_twice() -> None:
    sweep = [{"network.rtt": ["1 ms", "1 ms"], "network.loss": ["5 %", "6 %"]}]
    assert len(study(sweep=sweep).points()) == 2


def test_objects_may_stand_for_texts():
    scenario = study().scenario
    made = Study(
        title="T",
        network=scenario.network,
        workloads=scenario.workloads,
        sweep=[
            {"network.rtt": [Span("1 ms")], "network.loss": [Bernoulli(probability=Share("5 %"))]}
        ],
    )
    assert values(made)[0]["network.rtt"] == "1 ms"
    assert len(made.check()) == 1


def test_runs_share_their_seeds_across_points():
    runs = list(study(sweep={"network.rtt": ["0 ms", "9 ms"]}, repeats=3, seed=7).runs())
    assert [(run.repeat, run.point.index) for run in runs] == [
        (0, 0),
        (0, 1),
        (1, 0),
        (1, 1),
        (2, 0),
        (2, 1),
    ]
    assert [run.seed for run in runs] == [seed_of(7, repeat) for repeat in (0, 0, 1, 1, 2, 2)]


def test_seeds_are_pinned_and_all_different():
    assert [seed_of(1, repeat) for repeat in range(3)] == PINNED
    many = [seed_of(seed, repeat) for seed in range(100) for repeat in range(100)]
    assert len(set(many)) == len(many)
    assert all(0 <= seed < 2**53 for seed in many)


PINNED = [3316356330981164, 8498871037046174, 407638796292049]


def test_more_repeats_go_on_where_fewer_stopped():
    few, many = (study(repeats=repeats) for repeats in (2, 5))
    assert [run.seed for run in few.runs()] == [run.seed for run in many.runs()][:2]
    assert few.fingerprint() == many.fingerprint()


def test_an_endless_transfer_needs_a_horizon():
    flows = {"bulk": {"kind": "transfer", "from": "a", "to": "b-1"}}
    with pytest.raises(StudyError, match=r"stop\.horizon"):
        study(workloads=flows)
    study(workloads=flows, stop={"horizon": "60 s"})
    study(workloads={"bulk": {**flows["bulk"], "stop": "9 s"}})
    with pytest.raises(StudyError, match=r"stop\.horizon") as caught:
        study(
            workloads={"bulk": {**flows["bulk"], "size": "1 MB"}},
            sweep={"workloads.bulk.size": ["1 MB", "none"]},
        )
    assert caught.value.problems[0].hint.endswith('at workloads.bulk.size = "none"')
