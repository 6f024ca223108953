"""An invalid run is played again if that is asked, and how often is kept."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from flashcrowd._core import Plan
from flashcrowd.emulation import self_test
from flashcrowd.engines import emulation
from flashcrowd.engines.emulation import SELF_TESTS, Emulator
from flashcrowd.study import Study

Rows = Mapping[str, Any]
WRONG = {
    "probe": "p", "from": "a", "to": "b", "planned": 1.0, "measured": 2.0,
    "low": None, "high": None, "within": 0,
}  # fmt: skip
"""A probe that did not find the plan's network."""


@pytest.mark.parametrize(("asked", "outcome", "played"), [(0, "invalid", 1), (2, "completed", 3)])
def test_an_invalid_run_is_played_again(
    asked: int, outcome: str, played: int, study: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (run,) = Study.load(study).runs()
    nothing = emulation._failed("")["run"][0]
    outcomes = ["invalid", "invalid", "completed"]
    runs: list[int] = []

    def in_lab(plan: Plan, seed: int, handle: Any, probe: bool = False, **_: Any) -> Rows:
        if probe:
            return {"probes": [], "late": []}
        runs.append(seed)
        return {"run": [{**nothing, "outcome": outcomes[len(runs) - 1]}]}

    monkeypatch.setattr(emulation, "in_lab", in_lab)
    engine = Emulator()
    engine.repeat_invalid = asked
    tables = engine.run(run.point.plan().parsed, run.seed, engine.handle())
    assert tables["run"]["outcome"].to_pylist() == [outcome]
    assert len(runs) == played
    assert engine.finish() == ({"invalid_repeated": played - 1} if played > 1 else {})


@pytest.mark.parametrize(("late", "tests"), [([], 1), ([{"reason": "late"}], SELF_TESTS)])
def test_a_self_test_on_a_late_machine_is_taken_again(
    late: list[dict[str, str]], tests: int, study: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (run,) = Study.load(study).runs()
    nothing = emulation._failed("")["run"][0]
    probed: list[int] = []

    def in_lab(plan: Plan, seed: int, handle: Any, probe: bool = False, **_: Any) -> Rows:
        if probe:
            probed.append(seed)
            return {"probes": [WRONG], "late": late}
        return {"run": [{**nothing, "outcome": "completed"}]}

    monkeypatch.setattr(emulation, "in_lab", in_lab)
    engine = Emulator()
    tables = engine.run(run.point.plan().parsed, run.seed, engine.handle())
    assert tables["run"]["outcome"].to_pylist() == ["invalid"]
    assert len(probed) == tests
    told = ["late"] * len(late) + ["self-test: p from a to b is 2, the model says 1"]
    assert tables["run"]["reason"].to_pylist() == ["; ".join(told)]


def test_stalls_of_a_self_test_add_up() -> None:
    assert self_test.stalls([{"late_max_s": 0.0004}, {"late_max_s": 0.0005}]) == []
    (said,) = self_test.stalls([{"late_max_s": 0.002}, {"late_max_s": 0.0015}])
    assert said == "packets of the self-test were up to 3.5 ms late, second by second"


def test_a_run_whose_network_was_not_the_plan_s_is_repeated_with_a_self_test(
    study: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (run,) = Study.load(study).runs()
    nothing = emulation._failed("")["run"][0]
    tests, runs = [0], [0]

    def in_lab(plan: Plan, seed: int, handle: Any, probe: bool = False, **_: Any) -> Rows:
        if probe:
            tests[0] += 1
            return {"probes": [{**WRONG, "within": int(tests[0] > 2)}], "late": []}
        runs[0] += 1
        return {"run": [{**nothing, "outcome": "completed", "reason": ""}]}

    monkeypatch.setattr(emulation, "in_lab", in_lab)
    engine = Emulator()
    engine.repeat_invalid = 3
    plan = run.point.plan().parsed
    tables = engine.run(plan, run.seed, engine.handle())
    assert tables["run"]["outcome"].to_pylist() == ["completed"]
    assert (tests, runs) == ([3], [3])
    # Those that come later over the same network need no other.
    assert engine.run(plan, 7, engine.handle())["run"]["outcome"].to_pylist() == ["completed"]
    assert tests == [3]
