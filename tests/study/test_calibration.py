"""Seconds of this machine: no clock here, as what runs take is made up."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from flashcrowd._core import Plan
from flashcrowd.base.need import Need
from flashcrowd.engines.simulation import Simulator
from flashcrowd.study import Study
from flashcrowd.study.calibration import _spread, calibrated, of_here
from flashcrowd.study.need import PROCESS_BYTES, StudyNeed, study_need

STUDY = Path(__file__).parents[2] / "studies" / "dumbbell.toml"


class Machine(Simulator):
    """A machine that takes so many times what is expected, and notes what it is asked."""

    def __init__(self, expected: Sequence[float], slower: float, busy: bool = False) -> None:
        super().__init__()
        self.expected, self.slower, self.busy = list(expected), slower, busy
        self.plans = [point.plan().parsed for point in Study.load(STUDY).points()]
        self.asked: list[int] = []

    def seconds(self, plan: Plan, seed: int, most_s: float) -> float | None:
        if plan not in self.plans:
            [reference] = super().needs([plan])
            assert reference is not None
            return None if self.busy else reference.seconds * self.slower
        index = self.plans.index(plan)
        self.asked.append(index)
        taken = self.expected[index] * self.slower
        return taken if taken <= most_s else None

    def need(self, budget_s: float = 0.3) -> StudyNeed | None:
        points = Study.load(STUDY).points()
        needs = [Need(10, 4, it, 10**6, 1.0) for it in self.expected]
        return calibrated(self, points, StudyNeed(needs, 3, 2), 1, budget_s)


def seconds(need: StudyNeed | None) -> list[float]:
    assert need is not None
    return [one.seconds for one in need.known]


def test_short_runs_need_what_they_took():
    machine = Machine([0.01] * 6, slower=2)
    assert seconds(machine.need()) == [0.02] * 6
    assert sorted(machine.asked) == list(range(6))


def test_long_runs_are_scaled_by_what_the_short_ones_took():
    machine = Machine([0.01, 9, 9, 9, 9, 0.02], slower=3)
    assert seconds(machine.need()) == pytest.approx([0.03, 27, 27, 27, 27, 0.06])
    assert machine.asked == [0, 5]


def test_a_study_that_takes_long_is_timed_before_it_is_run():
    study = Study.load(STUDY)
    machine = Machine([0.01, 9, 9, 9, 9, 0.02], slower=3)
    expected = StudyNeed([Need(10, 4, it, 10**6, 1.0) for it in machine.expected], 3, 2, 2)
    told = of_here(machine, study, expected)
    assert told.seconds == pytest.approx(3 * expected.seconds)
    busy = Machine([9] * 6, slower=3, busy=True)
    assert of_here(busy, study, expected) is expected
    # One that is done at once is run, and not timed before.
    short = Machine([0.01] * 6, slower=3)
    expected = StudyNeed([Need(10, 4, it, 10**6, 1.0) for it in short.expected], 3, 2, 2)
    assert of_here(short, study, expected) is expected
    assert short.asked == []


def test_the_runs_share_the_cores_that_there_are():
    needs = [Need(10, 4, 2.0, 10**6, 1.0)] * 6
    assert StudyNeed(needs, 3, 9).seconds == 4.0
    assert StudyNeed(needs, 3, 9, 2).seconds == 18.0
    assert StudyNeed(needs, 3, 1, 2).seconds == 36.0
    plans = [point.plan().parsed for point in Study.load(STUDY).points()]
    assert study_need(Simulator(), plans, 1, 4).cores


def test_no_more_is_run_than_there_is_time_for():
    machine = Machine([0.1] * 6, slower=1)
    assert seconds(machine.need(0.25)) == pytest.approx([0.1] * 6)
    assert machine.asked == [0, 5]


def test_where_all_are_long_a_reference_tells():
    machine = Machine([9.0] * 6, slower=2)
    assert seconds(machine.need()) == pytest.approx([18.0] * 6)
    assert machine.asked == []


def test_a_machine_that_is_too_busy_tells_nothing():
    assert Machine([9.0] * 6, slower=2, busy=True).need() is None


@pytest.mark.parametrize("count", [1, 2, 3, 6, 100])
def test_every_point_has_its_turn_the_ends_first(count: int):
    order = _spread(count)
    assert sorted(order) == list(range(count))
    assert order[:2] == [0, count - 1][:count]


def test_a_run_that_takes_too_long_is_cancelled():
    plan = Study.load(STUDY).points()[0].plan().parsed
    assert Simulator().seconds(plan, 1, 0.0) is None
    taken = Simulator().seconds(plan, 1, 60.0)
    assert taken is not None
    assert taken > 0


def test_memory_of_the_process_counts_what_no_run_has():
    need = study_need(Simulator(), [Study.load(STUDY).points()[0].plan().parsed], 3, 2)
    assert need.process_bytes == need.bytes + PROCESS_BYTES
