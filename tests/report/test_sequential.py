"""Intervals that hold although somebody looked and stopped when it suited."""

import numpy as np
import pytest
from scipy import stats

from flashcrowd.base.looks import Looks
from flashcrowd.report import sequential, statistics

STUDIES = 2000


def stopped(random: np.random.Generator, looks: Looks, spread: float) -> np.ndarray:
    """Values of the runs that a study of mean 100 ends with."""
    values = random.normal(100, spread, looks.at_most)
    for count in looks.schedule:
        found = sequential.estimate(values[:count], looks)
        if sequential.narrow(found, looks):
            return values[:count]
    return values


def test_the_schedule_grows_by_half_from_the_least_to_the_most() -> None:
    assert Looks(0.02).schedule == (5, 8, 12, 18, 27, 41, 62, 93, 100)
    assert Looks(0.02, 7, 7).schedule == (7,)
    assert Looks(0.02, 3, 6).schedule == (3, 5, 6)


def test_one_look_is_the_interval_of_student() -> None:
    values = [10.0, 12.0, 14.0, 11.0]
    found = sequential.estimate(values, Looks(0.02, 4, 4))
    low, high = stats.t.interval(0.95, 3, np.mean(values), stats.sem(values))
    assert (found.low, found.high) == (pytest.approx(low), pytest.approx(high))


@pytest.mark.parametrize(
    ("spread", "looks"), [(5.0, Looks(0.02)), (20.0, Looks(0.1)), (10.0, Looks(0.05, 3, 200))]
)
def test_after_optional_stopping_the_mean_is_covered_as_promised(
    spread: float, looks: Looks
) -> None:
    random = np.random.default_rng(1)
    covered, early = 0, 0
    for _ in range(STUDIES):
        values = stopped(random, looks, spread)
        found = sequential.estimate(values, looks)
        assert found.low is not None
        assert found.high is not None
        covered += found.low <= 100 <= found.high
        early += len(values) < looks.at_most
    assert early > STUDIES / 2  # the rule does stop studies
    assert covered / STUDIES >= 0.95


def test_at_all_looks_together_the_mean_is_covered_as_promised() -> None:
    """Whatever makes somebody stop, also a wish to be wrong."""
    random, looks = np.random.default_rng(2), Looks(0.02)
    covered = 0
    for _ in range(STUDIES):
        values = random.normal(100, 5, looks.at_most)
        ends = [sequential.estimate(values[:count], looks) for count in looks.schedule]
        covered += all(e.low <= 100 <= e.high for e in ends)  # type: ignore[operator]
    assert covered / STUDIES >= 0.95


def test_an_interval_that_forgets_the_looks_covers_less() -> None:
    """Why all this is needed: Student's t of 95 % at each look, stopped when it is narrow."""
    random, looks = np.random.default_rng(3), Looks(0.02)
    quantile = {count: stats.t.ppf(0.975, count - 1) for count in looks.schedule}
    missed = 0
    for _ in range(STUDIES):
        values = random.normal(100, 5, looks.at_most)
        count, half = 0, 0.0
        for count in looks.schedule:
            half = quantile[count] * values[:count].std(ddof=1) / np.sqrt(count)
            if half <= looks.until * values[:count].mean():
                break
        missed += abs(values[:count].mean() - 100) > half
    assert missed / STUDIES > 0.07


def test_the_difference_of_points_that_ended_apart_is_over_their_common_runs() -> None:
    random, looks = np.random.default_rng(4), Looks(0.02)
    base = dict(enumerate(random.normal(100, 5, 18)))
    values = {seed: base[seed] * 1.1 for seed in range(8)}
    found = sequential.difference(values, base, looks, relative=True)
    assert found is not None
    assert found.n == 8
    assert found.mean == pytest.approx(0.1)


def test_the_difference_of_runs_without_a_common_seed_is_one_of_independent_runs() -> None:
    random, looks = np.random.default_rng(6), Looks(0.02, 8, 8)
    base, values = random.normal(100, 5, 8), random.normal(110, 5, 8)
    found = sequential.difference(
        dict(enumerate(values, 100)), dict(enumerate(base)), looks, relative=False
    )
    assert found is not None
    error = np.hypot(stats.sem(values), stats.sem(base))
    half = stats.t.ppf(0.975, 7) * error
    assert found.low == pytest.approx(values.mean() - base.mean() - half)
    assert found.high == pytest.approx(values.mean() - base.mean() + half)
    assert sequential.difference({}, dict(enumerate(base)), looks) is None


def test_it_is_wider_than_the_interval_of_one_look() -> None:
    values = np.random.default_rng(5).normal(100, 5, 4)
    plain, wide = statistics.estimate(values), sequential.estimate(values, Looks(0.02))
    assert plain.low is not None
    assert wide.low is not None
    assert wide.low < plain.low


def test_equal_runs_are_known_at_once() -> None:
    found = sequential.estimate([2.0, 2.0, 2.0], Looks(0.02))
    assert found.is_constant
    assert sequential.narrow(found, Looks(0.02))


def test_a_mean_of_zero_is_never_known_to_a_share_of_itself() -> None:
    assert not sequential.narrow(sequential.estimate([-1.0, 1.0, 0.0], Looks(0.5)), Looks(0.5))


def test_a_resolved_study_tells_its_rule() -> None:
    study = {"repeats": {"until": "2 %", "at_least": 5, "at_most": 50}}
    assert Looks.of_study(study) == Looks(0.02, 5, 50)
    assert Looks.of_study({"repeats": 5}) is None
    assert "5, 8, 12, 18, 27, 41 or 50 runs" in sequential.words(Looks(0.02, 5, 50))
