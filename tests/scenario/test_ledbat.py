"""A controller of the LEDBAT family brings its table along, and what the file says stays."""

import json
from typing import Any

import pytest

from flashcrowd.base.errors import StudyError
from flashcrowd.study import Study

DOCUMENT: dict[str, Any] = {
    "format": 1,
    "title": "a transfer",
    "seed": 1,
    "repeats": 1,
    "network": {"stack": "mine", "groups": {"here": {"hosts": 1}, "there": {"hosts": 1}}},
    "workloads": {"bulk": {"kind": "transfer", "from": "here", "to": "there", "size": "1 MB"}},
}


def tables(stack: dict[str, Any], **sweep: Any) -> list[Any]:
    """The plan's LEDBAT table of the stack "mine" at each point, and again as resolved."""
    study = Study.from_dict({**DOCUMENT, "stacks": {"mine": stack}, "sweep": sweep})
    again = Study.from_dict(study.resolved())
    assert again.fingerprint() == study.fingerprint()
    plans = [json.loads(point.plan().to_json()) for point in study.points()]
    return [plan["stacks"][0]["ledbat"] for plan in plans]


def test_each_controller_has_its_own_table_and_what_is_said_stays():
    controllers = ["cubic", "ledbat", "ledbat-draft", "libutp", "libtorrent", "ledbat-plus-plus"]
    sweep = {"stacks.mine.controller": controllers}
    plain = {"base": "linux-6", "controller": "libutp"}
    none, *made = tables(plain, **sweep)
    assert none is None
    assert [table["target_ns"] // 10**6 for table in made] == [100, 25, 100, 100, 60]
    assert [table["noise_filter"] for table in made] == [4, 4, 3, 3, 4]
    said = {**plain, "ledbat": {"target": "40 ms", "min_window_packets": 3}}
    for table in tables(said, **sweep):
        assert (table["target_ns"], table["min_window_packets"]) == (40_000_000, 3)


def test_a_base_with_a_table_keeps_it_unless_the_controller_changes():
    (kept,) = tables({"base": "ns2-ledbat", "ledbat": {"min_window_packets": 2}})
    assert (kept["target_ns"], kept["min_window_packets"]) == (25_000_000, 2)
    (changed,) = tables({"base": "ns2-ledbat", "controller": "libutp"})
    assert (changed["target_ns"], changed["min_window_bytes"]) == (100_000_000, 10)


def test_a_value_of_the_table_can_be_swept():
    targets = ["10 ms", "25 ms"]
    made = tables({"base": "ns2-ledbat"}, **{"stacks.mine.ledbat.target": targets})
    assert [table["target_ns"] for table in made] == [10_000_000, 25_000_000]


def test_a_controller_by_delay_needs_timestamps():
    with pytest.raises(StudyError, match="goes by one-way delay"):
        tables({"base": "windows-xp", "controller": "ledbat"})
    tables({"base": "windows-xp", "controller": "ledbat-plus-plus"})
