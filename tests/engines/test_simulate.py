"""The extension module, through the door that users take."""

import json
import threading
import time
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from tests.engines import plans

from flashcrowd import _core
from flashcrowd.engines import Cancelled, EngineFault, PlanRejected
from flashcrowd.engines.simulation import Simulator
from flashcrowd.plan.types import Stop
from flashcrowd.store import schema

EACH = [
    plans.swarm(5),
    plans.transfer(),
    plans.ping(),
    plans.web(),
    plans.call(),
    plans.origin(),
    plans.download([2]),
]
EACH[0]["populations"][0]["upload_control"] = plans.control(reflector=5)
EACH[0]["populations"][1]["profile"] = 1
EACH[0] |= {"size_bytes": 600_000, "web_seeds": [{"origin": 5, "file": 0}]}
WHOLE = plans.plan(6, EACH, loss=0.01)
WHOLE["profiles"].append(json.loads(_core.client_profiles())["modern"])
SMALL = plans.made(WHOLE)
LONG = plans.made(plans.plan(2, [plans.transfer(None), plans.ping()]))


def test_tables_have_the_documented_columns() -> None:
    engine = Simulator()
    tables = engine.run(SMALL, 1, engine.handle())
    of_emulation = {"emulation", "probes", "programs"}
    assert sorted(tables) == sorted({*schema.ENGINE_TABLES} - of_emulation)
    for name, table in tables.items():
        cast = schema.ENGINE_TABLES[name].cast(table)
        assert cast.num_rows == table.num_rows > 0, name


def test_equal_plans_and_seeds_give_equal_tables() -> None:
    first, second = (_core.simulate(SMALL, 7) for _ in range(2))
    other = _core.simulate(SMALL, 8)
    for name in first:
        assert pa.table(first[name]).equals(pa.table(second[name])), name
    assert not pa.table(first["downloads"]).equals(pa.table(other["downloads"]))


def test_any_library_takes_a_table() -> None:
    table = _core.simulate(SMALL, 1)["downloads"]
    assert len(table) == pl.DataFrame(table).height == len(pd.DataFrame.from_arrow(table)) == 8
    assert table.column_names == pl.DataFrame(table).columns


def test_other_threads_go_on_and_can_cancel() -> None:
    handle = _core.RunHandle()
    raised: list[Exception] = []

    def work() -> None:
        try:
            _core.simulate(LONG, 1, handle)
        except _core.Cancelled as error:
            raised.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    end = time.monotonic() + 20
    while handle.progress == 0.0 and time.monotonic() < end:
        time.sleep(0.001)
    assert 0.0 < handle.progress <= 1.0
    handle.cancel()
    thread.join(10)
    assert handle.cancelled
    assert len(raised) == 1


def test_a_cancelled_run_is_the_engines_word_too() -> None:
    engine = Simulator()
    handle = engine.handle()
    handle.cancel()
    with pytest.raises(Cancelled):
        engine.run(LONG, 1, handle)


@pytest.mark.parametrize(
    "text",
    [
        *("", "{", "[]", '{"format": 1}', SMALL.to_json().replace("hosts", "guests")),
        json.dumps(list(WHOLE.values())),
    ],
)
def test_what_is_no_plan_is_refused(text: str) -> None:
    with pytest.raises(_core.PlanError, match="plan: "):
        _core.Plan(text)


def test_a_plan_with_another_part_is_another_plan() -> None:
    stop: Stop = {"horizon_ns": 10**9, "stall_ns": 10**9}
    other = SMALL.with_(stop=stop)
    assert (other.stop, other.workloads) == (stop, SMALL.workloads) == (stop, WHOLE["workloads"])
    assert SMALL.stop == WHOLE["stop"]
    assert other != SMALL
    assert other.with_(stop=stop) == other
    assert json.loads(other.to_json()) == {**WHOLE, "stop": stop}


@pytest.mark.parametrize(
    ("part", "said"),
    [
        ({"stops": {}}, "unknown field `stops`"),
        ({"stop": {}}, "missing field"),
        ({"stop": [10**9, 10**9]}, "stop: is a list, where a table belongs"),
        ({"network": list(WHOLE["network"].values())}, "network: is a list"),
        ({"workloads": {}}, "expected a sequence"),
    ],
)
def test_a_part_that_is_none_is_refused(part: dict[str, Any], said: str) -> None:
    with pytest.raises(_core.PlanError, match=said):
        SMALL.with_(**part)


def test_an_impossible_plan_names_the_place() -> None:
    broken = plans.plan(2, [plans.transfer() | {"to": 9}])
    engine = Simulator()
    with pytest.raises(PlanRejected, match=r"^workloads\.bulk\.to: "):
        engine.run(plans.made(broken), 1, engine.handle())


@pytest.mark.parametrize("datagrams", [plans.ping(), plans.call()], ids=["ping", "call"])
def test_a_datagram_that_would_be_fragmented_is_refused(datagrams) -> None:
    whole, split = (
        plans.made(plans.plan(2, [datagrams | {"size_bytes": size}])) for size in (1500, 1501)
    )
    Simulator().check(whole)
    with pytest.raises(PlanRejected, match=r"size: must be at most 1500, the MTU of h0"):
        Simulator().check(split)


@pytest.mark.parametrize("seed", [-1, 2**64, "1", 1.5])
def test_seeds_are_whole_numbers_of_64_bits(seed) -> None:
    with pytest.raises((OverflowError, TypeError)):
        _core.simulate(SMALL, seed)


def test_the_largest_seed_works() -> None:
    assert len(_core.simulate(SMALL, 2**64 - 1)["run"]) == 1


def test_a_fault_says_how_to_report_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise _core.EngineFault("index out of bounds (crates/sim/src/x.rs:1)")

    monkeypatch.setattr(_core, "simulate", fail)
    with pytest.raises(
        EngineFault, match=r"please report it: index out of bounds .*\n.*plan [0-9a-f]{16}, seed 3"
    ):
        Simulator().run(SMALL, 3, Simulator().handle())


def test_build_says_what_it_is() -> None:
    build = _core.build_info()
    digests = {"engine", "emulation", "server"}
    assert set(build) == {"version", "profile", "commit", "rustc", *digests}
    assert build["profile"] in ("release", "debug")
    assert {len(build[name] or "") for name in digests} == {16}
    assert len({build[name] for name in digests}) == 3
