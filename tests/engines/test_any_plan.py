"""No plan makes the engine panic, whatever stands in it: it runs or it is refused."""

import copy
import json
import threading
from collections.abc import Iterator
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.engines import plans

from flashcrowd import _core

EACH = [
    plans.swarm(3, 600_000),
    plans.transfer(),
    plans.ping(),
    plans.web(),
    plans.call(),
    plans.origin(),
    plans.download([2]),
]
GOOD = plans.plan(4, EACH, loss=0.01)
GOOD["timeline"] = [
    {"at_ns": 10**9, "kind": "link", "link": 0, "conditions": plans.FAST | {"rate_bps": 10**6}},
    {"at_ns": 2 * 10**9, "kind": "upload", "workload": 0, "population": 1, "upload_bps": None},
    {"at_ns": 3 * 10**9, "kind": "transfer-rate", "workload": 1, "rate_bps": 10**5},
    {"at_ns": 4 * 10**9, "kind": "stop", "workload": 0},
]

PATIENCE_S = 1.0


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    if isinstance(value, dict):
        for key, item in value.items():
            yield from leaves(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from leaves(item, (*path, index))


def replaced(plan: Any, path: tuple[Any, ...], value: Any) -> Any:
    if not path:
        return value
    changed = copy.deepcopy(plan)
    place = changed
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    return changed


NUMBERS = [-1, 0, 1, 2, 3, 255, 65536, 2**31, 2**32 - 1, 2**32, 2**53, 2**63, 2**64 - 1, 2**64]
FRACTIONS = [0.0, 0.5, 1.0, -0.5, 1e-300, 1e300]
ODD = st.sampled_from([*NUMBERS, *FRACTIONS, None, True, "", "x", [], [0], [0, 0], {}])


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(path=st.sampled_from(list(leaves(GOOD))[1:]), value=ODD, seed=st.integers(0, 3))
def test_any_plan_runs_or_is_refused(path: tuple[Any, ...], value: Any, seed: int) -> None:
    handle = _core.RunHandle()
    timer = threading.Timer(PATIENCE_S, handle.cancel)
    timer.start()
    try:
        tables = _core.simulate(_core.Plan(json.dumps(replaced(GOOD, path, value))), seed, handle)
        assert len(tables["run"]) == 1
    except (_core.PlanError, _core.Cancelled):
        pass
    finally:
        timer.cancel()
