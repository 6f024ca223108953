"""Real swarms meet the arrivals and departures of simulated ones."""

import json
from typing import Any

import pyarrow as pa
import pytest
from tests.clients import testbed

from flashcrowd import _core
from flashcrowd.clients.arrivals import arrivals_ns, leaves_ns, stay_ns
from flashcrowd.clients.random_stream import RandomStream, quantile


def test_the_derivation_of_streams_is_the_simulations():
    # The vectors of crates/base/src/random_stream.rs.
    pinned = {
        (0, "", 0): 0xCE95A7F7C28D252F,
        (1, "loss", 0): 0x46C4D823E22FD54E,
        (1, "loss", 1): 0xFBCA5798B50D83AD,
        (2**64 - 1, "arrivals", 7): 0xAF463DD84C9B3AB0,
    }
    assert {key: RandomStream(*key).bits() for key in pinned} == pinned


def simulated(plan: Any, seed: int) -> list[dict[str, Any]]:
    """The simulation's downloads, host by host."""
    rows = pa.table(_core.simulate(json.dumps(plan), seed)["downloads"]).to_pylist()
    return sorted(rows, key=lambda row: row["host"])


ARRIVALS = {
    "flash crowd": {"start": "1 s", "spread": "10 s"},
    "poisson": {"gap": "2 s"},
    "rates": {"per_hour": [["0 s", 3600], ["5 s", 360], ["20 s", 7200]], "period": "30 s"},
}


@pytest.mark.parametrize("kind", list(ARRIVALS))
@pytest.mark.parametrize("seed", [1, 2**63])
def test_peers_come_when_the_simulations_come(kind: str, seed: int):
    plan = testbed.plan(
        {"name": "seed", "role": "seed", "arrivals": {"spread": "2 s"}},
        {"name": "crowd", "hosts": 9, "arrivals": ARRIVALS[kind]},
        size="64 KiB",
    )
    spec = plan["workloads"][0]["populations"][1]
    expected = [row["arrived_s"] for row in simulated(plan, seed)]
    assert len(expected) == 9
    found = [at / 1e9 for at in arrivals_ns(spec, seed, 0, 1)]
    assert found == pytest.approx(expected, abs=2e-9)


@pytest.mark.parametrize("departure", ["after 20 s", "after 50 %", "at-once"])
def test_peers_go_when_the_simulations_go(departure: str):
    plan = testbed.plan(
        {"name": "seed", "role": "seed"},
        {"name": "crowd", "hosts": 5, "departure": departure},
        {"name": "late", "hosts": 1, "arrivals": {"start": "1000 s"}},
        size="64 KiB",
    )
    spec = plan["workloads"][0]["populations"][1]
    rows = [row for row in simulated(plan, 3) if row["population"] == "crowd"]
    assert len(rows) == 5
    for peer, row in enumerate(rows, 1):
        stay = stay_ns(spec["departure"], 3, peer, round(row["duration_s"] * 1e9))
        assert stay is not None
        assert row["completed_s"] + stay / 1e9 == pytest.approx(row["left_s"], abs=1e-8)


def test_instants_and_sessions_are_as_written():
    plan = testbed.plan({"role": "seed"}, {"hosts": 2})
    spec = plan["workloads"][0]["populations"][1]
    assert leaves_ns(spec) == [None, None]
    spec["arrivals"] = {"kind": "sessions", "at_ns": [5, 7], "leave_ns": [9, None]}
    assert arrivals_ns(spec, 1, 0, 1) == [5, 7]
    assert leaves_ns(spec) == [9, None]


def test_who_stays_has_no_end():
    assert stay_ns({"kind": "never"}, 1, 1, 10) is None
    assert stay_ns({"kind": "all-done"}, 1, 1, 10) is None


def test_quantiles_interpolate_and_clamp():
    points = [(0.0, 10.0), (0.5, 20.0), (1.0, 120.0)]
    assert [quantile(points, share) for share in (0.0, 0.25, 0.75, 1.0)] == [10, 15, 70, 120]
    assert quantile([(0.5, 3.0)], 0.9) == 3.0
