"""Lists that stand on both sides, in Rust and as Python's literals, are the same list.

The engine names what it knows when it is given a word that it does not.
"""

import copy
import json
import re
import types
import typing
from collections.abc import Iterator
from typing import Any

import pytest
from tests.engines import plans

from flashcrowd import _core
from flashcrowd.scenario import (
    arrivals,
    impairments,
    origin,
    queue,
    swarm,
    upload_control,
    web,
)
from flashcrowd.scenario.measures import Sampled, Windowed
from flashcrowd.scenario.workloads import Workload

NO_WORD = "no-such-word"

PLAN = plans.plan(4, [plans.swarm(3), plans.transfer(), plans.web(), plans.origin()], loss=0.01)
PLAN["utps"] = [json.loads(_core.utp_profiles())["libutp"]]
PLAN["workloads"][0]["populations"][0]["upload_control"] = {
    "controller": {"kind": "fixed"},
    "reflectors": [1],
    "probe_bytes": 64,
    "start_spread_ns": 0,
    "lateness_ns": 0,
    "poll_ns": 10**9,
    "interface": {"refresh_ns": 0, "window_ns": None, "step_bytes": 1},
}
PLAN["network"]["links"][0]["conditions"] = plans.FAST | {
    "jitter": {"shape": "uniform", "spread_ns": 1, "reorder": False},
    "queue": {
        "kind": "cake",
        "bandwidth_bps": None,
        "framing": None,
        "rtt_ns": 10**8,
        "isolation": "flows",
        "ack_filter": "off",
        "memory_limit_bytes": None,
        "mtu_bytes": 1514,
    },
}
PLAN["workloads"][3]["settings"]["scheduling"] |= {
    "replacement": "lru",
    "begin": "region",
    "follow": "oldest-first",
    "slide": "trail",
    "independence": "region-empty",
}


def words(annotation: Any) -> set[str]:
    """Every literal text in a type, however deep; of a table with a `kind`, that."""
    origin = typing.get_origin(annotation)
    if origin is typing.Literal:
        return {word for word in typing.get_args(annotation) if isinstance(word, str)}
    if isinstance(annotation, type) and hasattr(annotation, "model_fields"):
        return words(annotation.model_fields["kind"].annotation)
    if origin in (typing.Annotated, typing.Union, types.UnionType):
        parts = typing.get_args(annotation)
        return set().union(
            *(words(part) for part in parts[: 1 if origin is typing.Annotated else None])
        )
    return set()


def field(model: Any, name: str) -> set[str]:
    return words(model.model_fields[name].annotation)


QUEUES = {"drop-tail", *queue.DISCIPLINES}

PYTHON: dict[str, set[str]] = {
    "measures.series.what": set(typing.get_args(Sampled)),
    "measures.windows.table": set(typing.get_args(Windowed)),
    "workloads.kind": words(Workload),
    "workloads.reading.kind": words(web.ReadingTable),
    "workloads.disk.kind": words(origin.DiskTable),
    "workloads.settings.scheduling.kind": words(origin.PolicyTable),
    **{
        f"workloads.settings.scheduling.{name}": field(origin.Circus, name)
        for name in ("begin", "follow", "independence", "replacement", "slide")
    },
    "workloads.populations.upload_control.controller.kind": set(
        typing.get_args(upload_control.ControllerName)
    ),
    "workloads.populations.role": field(swarm.Population, "role"),
    # Times with the ends of stays are sessions in the plan.
    "workloads.populations.arrivals.kind": words(arrivals.ArrivalTable) | {"sessions"},
    "workloads.populations.departure.kind": words(swarm.DepartureTable),
    "network.cores.conditions.loss.side": set(typing.get_args(impairments.Side)),
    "network.cores.conditions.queue.kind": QUEUES,
    "network.links.conditions.jitter.shape": field(impairments.Jitter, "shape"),
}

LOWERED = {
    "network.cores.conditions.framing.kind": "names of framings are lowered to `plain` and `atm`",
    "network.links.conditions.framing.kind": "names of framings are lowered to `plain` and `atm`",
    "network.cores.conditions.loss.model.kind": "`bursts` is lowered to `gilbert-elliott`",
}
"""Where a file has other words than a plan, and why."""

DESCRIBED = ("stacks.", "utps.", "profiles.", "network.links.conditions.queue.")
"""Tables whose words Python has from the engine's schema (`scenario/described.py`)."""


def texts(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield from texts(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from texts(item, (*path, index))
    elif isinstance(value, str):
        yield path


def known(path: tuple[Any, ...]) -> set[str]:
    """What the engine knows at a place of a plan; nothing if any text will do there."""
    changed = copy.deepcopy(PLAN)
    place = changed
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = NO_WORD
    try:
        _core.Plan(json.dumps(changed)).check()
    except _core.PlanError as error:
        rest = str(error).split(f"unknown variant `{NO_WORD}`, expected ")[1]
        return set(re.findall(r"`([^`]+)`", rest))
    return set()


def rust() -> dict[str, set[str]]:
    lists: dict[str, set[str]] = {}
    for path in texts(PLAN):
        if path[-1] not in ("name", "title", "transport") and "groups" not in path:
            name = ".".join(step for step in path if isinstance(step, str))
            lists.setdefault(name, set()).update(known(path))
    return {name: listed for name, listed in lists.items() if listed}


RUST = rust()


@pytest.mark.parametrize("name", PYTHON)
def test_both_sides_have_the_same_words(name: str) -> None:
    assert PYTHON[name]
    assert PYTHON[name] == RUST[name]


def test_no_list_of_the_engine_is_forgotten() -> None:
    assert {name for name in RUST if not name.startswith(DESCRIBED)} == {*PYTHON, *LOWERED}
