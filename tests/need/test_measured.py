"""The predictions of this build, held against what `make needs` measured: no run, no clock."""

import math
from dataclasses import asdict
from functools import cache
from typing import Any

import pytest
from benches.needs import cases, compare, fit, measure
from benches.needs.cases import need_of
from hypothesis import given
from hypothesis import strategies as st

from flashcrowd import _core
from flashcrowd.study import Study

COSTS = fit.Costs.read()
TAKEN = measure.measured()


@cache
def plans() -> dict[str, str]:
    return dict(cases.all())


def found(drawn: bool) -> list[compare.Ratios]:
    names = [it for it in plans() if it in TAKEN and (cases.seed_of(it) is not None) == drawn]
    return [compare.ratios(plans()[name], TAKEN[name], COSTS) for name in names]


def test_every_case_was_measured() -> None:
    assert list(TAKEN) == list(plans()), "run python -m benches.needs add table"


@pytest.mark.parametrize("drawn", [False, True], ids=["studies", "random"])
@pytest.mark.parametrize("what", ["packets", "events"])
def test_nine_of_ten_are_within_a_factor_of_one_and_a_half(what: str, drawn: bool) -> None:
    good, count = compare.near(found(drawn), what)
    assert good >= 0.9 * count, f"{good} of {count}"


@pytest.mark.parametrize("drawn", [False, True], ids=["studies", "random"])
def test_most_ends_are_within_a_factor_of_one_and_a_half(drawn: bool) -> None:
    good, count = compare.near(found(drawn), "end_s")
    assert good >= 0.8 * count, f"{good} of {count}"


def test_the_fit_computes_as_the_engine_does() -> None:
    """The engine was compiled with the costs that lie in the repository."""
    for name, plan in list(plans().items())[::5]:
        need, work = need_of(plan), _core.Plan(plan).work()
        assert math.isclose(need.seconds, COSTS.time(work), rel_tol=1e-6), name
        assert math.isclose(need.bytes, COSTS.memory(work), rel_tol=1e-6, abs_tol=1), name


def test_a_fit_finds_the_costs_that_made_the_times() -> None:
    work = dict.fromkeys((*fit.KINDS, *fit.HELD, "bytes", "connections"), 0.0)
    works = [
        {**work, "events": 1e6 * n, "messages": 1e5 * n * n, "bytes": 1e6} for n in range(1, 9)
    ]
    true = fit.Costs({"events": 1e-7, "messages": 3e-7}, 1e9, {})
    costs = fit.fit(works, [true.time(it) for it in works], [None] * len(works))
    assert max(abs(math.log(costs.time(it) / true.time(it))) for it in works) < 0.1


def crowd(hosts: int = 20, megabytes: float = 4, **people: object) -> dict[str, object]:
    """A swarm of homes that a seed at 1 Mbit/s begins."""
    population = {"group": "homes", "profile": "modern", "upload": "500 kbit/s"}
    return {
        "format": 1,
        "title": "A swarm",
        "network": {
            "rtt": "40 ms",
            "groups": {
                "seed": {"access": "fibre 100/100"},
                "homes": {"hosts": hosts, "access": "ADSL 1/8"},
            },
        },
        "workloads": {
            "swarm": {
                "kind": "swarm",
                "size": f"{megabytes} MB",
                "populations": {
                    "seed": {
                        "role": "seed",
                        "group": "seed",
                        "profile": "modern",
                        "upload": "1 Mbit/s",
                    },
                    "people": {**population, **people},
                },
            }
        },
        "stop": {"horizon": "2 d"},
    }


def need(study: dict[str, object]) -> dict[str, float]:
    return asdict(need_of(Study.from_dict(study).points()[0].plan().to_json()))


@given(
    st.integers(2, 300),
    st.floats(0.5, 100),
    st.sampled_from(["at-once", "all-done", "after 5 min"]),
)
def test_more_peers_and_longer_files_need_more(
    hosts: int, megabytes: float, departure: str
) -> None:
    one = need(crowd(hosts, round(megabytes, 2), departure=departure))
    assert all(math.isfinite(it) and it > 0 for it in one.values())
    peers = need(crowd(2 * hosts, round(megabytes, 2), departure=departure))
    longer = need(crowd(hosts, round(2 * megabytes, 2), departure=departure))
    for what in ("packets", "events", "seconds", "bytes"):
        assert peers[what] > one[what], what
    for what in ("packets", "events", "seconds", "end_s"):
        assert longer[what] > one[what], what


@pytest.mark.parametrize(
    "people",
    [
        {"departure": "at-once"},
        {"departure": "after 20 min"},
        {"departure": {"points": [["0 %", "1 min"], ["50 %", "10 min"], ["100 %", "2 h"]]}},
    ],
    ids=["at once", "after a while", "sessions"],
)
def test_sessions_that_are_spread_over_a_day_meet_few_others(people: dict[str, Any]) -> None:
    """Sixty people in 24 hours: next to nobody is there at a time."""
    study = Study.from_dict(crowd(60, arrivals={"kind": "poisson", "gap": "24 min"}, **people))
    plan = study.points()[0].plan().to_json()
    ratio = compare.ratios(plan, measure.take(plan, span_s=0), COSTS)
    assert all(1 / compare.FACTOR <= ratio[what] <= compare.FACTOR for what in compare.COUNTS), (
        ratio
    )
