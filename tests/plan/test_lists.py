"""Tables whose `kind` a class of Python names are those that the engine knows."""

import json
import typing
from typing import Any

import pytest

from flashcrowd import _core
from flashcrowd.scenario.arrivals import ArrivalTable
from flashcrowd.scenario.origin import PositioningTable
from flashcrowd.scenario.swarm import DepartureTable
from flashcrowd.scenario.web import ReadingTable
from flashcrowd.scenario.workloads import Workload

CLASSES: dict[str, Any] = {
    "Arrivals": ArrivalTable,
    "Departure": DepartureTable,
    "Positioning": PositioningTable,
    "Reading": ReadingTable,
    "Workload": Workload,
}
MADE = {"Medium", "Queue", "Scheduling", "UploadControl"}
"""Their classes are made from what the engine says."""
LOWERED = {"Change", "Framing", "LossModel", "Trace"}
"""A file has other tables than a plan."""
ONLY_IN_PLANS = {"sessions"}
"""Times with the ends of stays are sessions in the plan."""

KINDS: dict[str, set[str]] = {
    name: {one["properties"]["kind"]["const"] for one in it["oneOf"]}
    for name, it in json.loads(_core.plan_schema())["$defs"].items()
    if all("kind" in one.get("properties", {}) for one in it.get("oneOf", [{}]))
}


@pytest.mark.parametrize("name", CLASSES)
def test_both_sides_have_the_same_kinds(name: str) -> None:
    classes = typing.get_args(typing.get_args(CLASSES[name])[0])
    assert {it.model_fields["kind"].default for it in classes} == KINDS[name] - ONLY_IN_PLANS


def test_no_list_of_the_engine_is_forgotten() -> None:
    assert KINDS.keys() == CLASSES.keys() | MADE | LOWERED
