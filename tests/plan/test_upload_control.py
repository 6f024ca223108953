"""A population's upload controller: from a study to the plan."""

import pickle
from typing import Any

import pytest

from flashcrowd.plan.lower import lower
from flashcrowd.plan.parts import workload
from flashcrowd.plan.types import ControlledUpload, SwarmWorkload
from flashcrowd.scenario import Scenario
from flashcrowd.scenario.upload_control import CONTROLLERS, TABLES


def scenario(control: Any, **changed: Any) -> Scenario:
    """A seed with a controller, and leechers elsewhere."""
    seed = {"role": "seed", "group": "home", "upload_control": control}
    swarm = {
        "kind": "swarm",
        "size": "1 MB",
        "populations": {"seed": seed, "leechers": {"group": "others"}},
    }
    groups = {"others": {"hosts": 2}, "home": {"access": "ADSL 1/8"}, "server": {}}
    return Scenario.model_validate(
        {
            "title": "test",
            "network": {"groups": changed.pop("groups", groups)},
            "workloads": {"swarm": {**swarm, **changed}},
        }
    )


def control(given: Any, **changed: Any) -> ControlledUpload:
    plan = lower(scenario(given, **changed))
    plan.parsed.check()
    (population, *_) = workload(plan.parsed, 0, SwarmWorkload)["populations"]
    assert "upload_control" in population
    found = population["upload_control"]
    assert found is not None
    return found


@pytest.mark.parametrize("name", CONTROLLERS)
def test_a_name_alone_has_the_engine_s_defaults(name: str) -> None:
    parameters = CONTROLLERS[name]["parameters"]
    expected = {each["name"]: each["default"] for each in parameters}
    assert control(name)["controller"] == {"kind": name, **expected}


def test_what_is_said_stands_in_the_plan() -> None:
    said = {
        "name": "adaptive-drc-aimd",
        "probe_period": "2 s",
        "step": "2 KiB/s",
        "deviations": 3,
        "baseline_samples": 40,
        "lost_is_congestion": True,
        "reflector": ["others-2", "server"],
        "probe_size": "100 B",
        "poll": "500 ms",
        "lateness": "0 s",
        "interface": "qbittorrent",
    }
    made = control(said)
    rules = made["controller"]
    assert (rules["probe_period_ns"], rules["step_bps"]) == (2_000_000_000, 16384)
    assert (rules["deviations"], rules["baseline_samples"]) == (3, 40)
    assert rules["lost_is_congestion"] is True
    assert made["reflectors"] == [1, 3]
    assert (made["probe_bytes"], made["poll_ns"], made["lateness_ns"]) == (100, 500_000_000, 0)
    assert made["interface"] == {"refresh_ns": 1_500_000_000, "window_ns": None, "step_bytes": 1024}


@pytest.mark.parametrize(
    ("changed", "reflector"),
    [
        ({}, 3),  # the one host without a peer
        ({"tracker": {"host": "others-2"}}, 1),
        ({"tracker": {"host": "home"}}, 3),  # a tracker at home is no reflector
        ({"groups": {"others": {"hosts": 2}, "home": {}}}, 0),
    ],
)
def test_without_a_reflector_one_behind_the_line_is_found(changed: Any, reflector: int) -> None:
    assert control("adaptive-drc-mimd", **changed)["reflectors"] == [reflector]


def test_a_plan_without_a_controller_says_nothing_of_it() -> None:
    for population in workload(lower(scenario("none")).parsed, 0, SwarmWorkload)["populations"]:
        assert "upload_control" not in population


def test_a_resolved_scenario_has_every_default_and_means_the_same() -> None:
    for name in CONTROLLERS:
        first = scenario(name)
        document = first.model_dump(mode="json", by_alias=True)
        table = document["workloads"]["swarm"]["populations"]["seed"]["upload_control"]
        assert table["name"] == name
        assert table["reflector"] == "auto"
        assert table.keys() >= TABLES[name].model_fields.keys()
        again = Scenario.model_validate(document)
        assert again == first
        assert lower(again).digest() == lower(first).digest()
        assert pickle.loads(pickle.dumps(first)) == first
