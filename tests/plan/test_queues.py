"""Queue disciplines: from a name or a table to the plan."""

import json

import pytest
from pydantic import ValidationError

from flashcrowd import _core
from flashcrowd.plan.conditions import lower_queue
from flashcrowd.plan.types import Settings
from flashcrowd.scenario.discipline import Discipline
from flashcrowd.scenario.line import Line
from flashcrowd.scenario.queue import DISCIPLINES, Queue


def queue_of(given: object) -> Queue | Discipline:
    return Line.model_validate({"up": "1 Mbit/s", "up_queue": given}).up_queue


def lowered(given: object) -> Settings:
    return lower_queue(queue_of(given))


def test_a_name_stands_for_the_table_of_that_kind():
    for name in DISCIPLINES:
        made = queue_of(name)
        assert not isinstance(made, Queue)
        assert made.kind == name


@pytest.mark.parametrize("name", DISCIPLINES)
def test_a_name_has_the_defaults_of_the_engine(name: str):
    default = json.loads(_core.settings_schema())["tables"][name]["default"]
    assert lowered(name) == {"kind": name, **default}
    assert lowered({"kind": name}) == lowered(name)


def test_a_table_replaces_what_it_names():
    assert lowered({"kind": "fq-codel", "ecn": False, "target": "10 ms"}) == {
        **lowered("fq-codel"),
        "ecn": False,
        "target_ns": 10_000_000,
    }
    cake = {"kind": "cake", "bandwidth": "900 kbit/s", "framing": "atm", "memory_limit": "1 MiB"}
    assert lowered(cake) == {
        **lowered("cake"),
        "bandwidth_bps": 900_000,
        "framing": {"kind": "atm", "encapsulation_bytes": 40},
        "memory_limit_bytes": 1 << 20,
    }


@pytest.mark.parametrize("name", ["200 packets", *DISCIPLINES])
def test_what_is_written_out_is_read_again(name: str):
    line = Line.model_validate({"up": "1 Mbit/s", "up_queue": name, "down_queue": name})
    assert Line.model_validate(line.model_dump(mode="json")) == line


@pytest.mark.parametrize(
    "given", ["fq-codle", {"kind": "blue"}, {"target": "5 ms"}, {"kind": "codel", "flows": 3}]
)
def test_what_cannot_be_is_refused(given: object):
    with pytest.raises(ValidationError):
        queue_of(given)
