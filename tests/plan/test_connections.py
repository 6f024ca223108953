"""Logs of connections: from names in a study to numbers in a plan, and what is refused."""

from typing import Any

import pytest
from tests.plan.test_lower import SWARM, S

from flashcrowd.base.errors import StudyError
from flashcrowd.plan.lower import lower
from flashcrowd.scenario import Scenario

WORKLOADS = {
    "swarm": SWARM,
    "echo": {"kind": "ping", "from": "a-1", "to": "b-1"},
    "up": {"kind": "transfer", "from": "a", "to": "b", "size": "1 MB"},
    "pages": {"kind": "web", "from": "a-1", "to": "b-1", "stop": "1 min"},
}


def logged(chosen: Any, **parts: Any) -> Any:
    network = {"groups": {"a": {"hosts": 2}, "b": {"hosts": 2}}}
    document = {"title": "T", "network": network, "workloads": WORKLOADS, **parts}
    document["measures"] = {"connections": chosen}
    return lower(Scenario.model_validate(document)).data["measures"].get("connections")


def test_an_empty_table_asks_for_both_ends_of_everything_that_opens_connections():
    # A transfer from two hosts to two is two workloads of the plan; a ping opens no connection.
    assert logged({}) == {
        "workloads": [0, 2, 3, 4],
        "hosts": None,
        "from_ns": 0,
        "to_ns": None,
        "packets": True,
        "metrics": True,
        "timers": False,
    }


def test_names_become_numbers():
    chosen = {"of": ["up"], "hosts": ["b-2", "a"], "from": "5 s", "to": "1 min", "timers": True}
    made = logged(chosen)
    assert (made["workloads"], made["hosts"]) == ([2, 3], [0, 1, 3])
    assert (made["from_ns"], made["to_ns"], made["timers"]) == (5 * S, 60 * S, True)


def test_without_the_table_nothing_is_logged():
    assert logged("none") is None


@pytest.mark.parametrize(
    ("chosen", "place"),
    [
        ({"of": ["upp"]}, "measures.connections.of[0]"),
        ({"of": ["up", "echo"]}, "measures.connections.of[1]"),
        ({"hosts": ["c"]}, "measures.connections.hosts[0]"),
        ({"from": "20 s", "to": "10 s"}, "measures.connections.to"),
        ({"from": "2 d"}, "measures.connections.from"),
    ],
)
def test_what_cannot_be_is_refused_at_its_place(chosen: Any, place: str):
    with pytest.raises(StudyError) as caught:
        logged(chosen)
    assert [problem.path for problem in caught.value.problems] == [place]


def test_a_workload_must_open_connections():
    with pytest.raises(StudyError) as caught:
        logged({}, workloads={"echo": WORKLOADS["echo"]}, stop={"horizon": "1 min"})
    assert [problem.path for problem in caught.value.problems] == ["measures.connections"]
