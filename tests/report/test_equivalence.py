"""Equivalence is said where it is shown, and no more often of what differs by the margin."""

from typing import Any

import numpy as np
import pytest
from scipy import stats

from flashcrowd.report.equivalence import equivalence
from flashcrowd.report.statistics import estimate


def p_of(result: Any) -> float:
    """The p-value of a test of scipy's."""
    return float(result.pvalue)


def seeded(values: np.ndarray, first: int = 0) -> dict[int, float]:
    return {first + seed: float(value) for seed, value in enumerate(values)}


def test_what_moves_little_and_is_measured_well_is_equivalent() -> None:
    random = np.random.default_rng(1)
    base = random.normal(100, 10, 12)
    found = equivalence(seeded(base * 1.01 + random.normal(0, 0.5, 12)), seeded(base), 0.05)
    assert found.paired
    assert found.verdict == "equivalent"
    assert found.words == "equivalent within 5 %"
    assert found.p is not None
    assert found.p < 0.001


def test_pairs_decide_what_independent_runs_leave_open() -> None:
    random = np.random.default_rng(2)
    base = random.normal(100, 20, 8)
    moved = base * 1.005
    assert equivalence(seeded(moved), seeded(base), 0.02).verdict == "equivalent"
    apart = equivalence(seeded(moved, first=1000), seeded(base), 0.02)
    assert not apart.paired
    assert apart.verdict == "undecided"


def test_a_difference_beyond_the_margin_is_different() -> None:
    random = np.random.default_rng(3)
    base = random.normal(100, 1, 10)
    found = equivalence(seeded(base * 1.2 + random.normal(0, 1, 10)), seeded(base), 0.05)
    assert found.words == "different"
    assert found.change is not None
    assert found.change.mean == pytest.approx(0.2, abs=0.02)


def test_few_noisy_runs_decide_nothing() -> None:
    assert equivalence({1: 90.0, 2: 120.0}, {1: 110.0, 2: 95.0}).words == "undecided"
    assert equivalence({1: 100.0}, {1: 100.0}).words == "undecided"
    assert equivalence({}, {1: 100.0}).words == "undecided"


def test_runs_in_which_nothing_is_random_decide_at_once() -> None:
    same = dict.fromkeys(range(3), 3.0)
    assert equivalence(dict.fromkeys(range(3), 3.1), same, 0.05).verdict == "equivalent"
    assert equivalence(dict.fromkeys(range(3), 3.3), same, 0.05).verdict == "different"


def test_a_mean_below_zero_has_its_margin_on_both_sides() -> None:
    base = seeded(np.array([-100.0, -101.0, -99.0, -100.5]))
    near = seeded(np.array([-101.0, -101.5, -100.0, -101.0]))
    assert equivalence(near, base, 0.05).verdict == "equivalent"
    assert equivalence({s: 1.3 * v for s, v in near.items()}, base, 0.05).verdict == "different"


def test_paired_p_is_that_of_two_student_tests_of_scipy() -> None:
    random = np.random.default_rng(4)
    base = random.normal(100, 5, 9)
    x = base + random.normal(1, 3, 9)
    above = p_of(stats.ttest_1samp(x - 0.95 * base, 0, alternative="greater"))
    below = p_of(stats.ttest_1samp(x - 1.05 * base, 0, alternative="less"))
    assert equivalence(seeded(x), seeded(base), 0.05).p == pytest.approx(max(above, below))


def test_unpaired_p_is_that_of_two_welch_tests_of_scipy() -> None:
    random = np.random.default_rng(5)
    base, x = random.normal(100, 5, 9), random.normal(101, 9, 14)
    above = p_of(stats.ttest_ind(x, 0.95 * base, equal_var=False, alternative="greater"))
    below = p_of(stats.ttest_ind(x, 1.05 * base, equal_var=False, alternative="less"))
    found = equivalence(seeded(x, first=100), seeded(base), 0.05)
    assert found.p == pytest.approx(max(above, below))


@pytest.mark.parametrize("paired", [True, False])
def test_what_differs_by_the_margin_is_rarely_called_equivalent(paired: bool) -> None:
    random = np.random.default_rng(6)
    said = 0
    for _ in range(1000):
        base = random.normal(100, 2, 8)
        x = base * 1.05 + random.normal(0, 2, 8) if paired else random.normal(105, 2, 8)
        known = estimate([0.0])  # saves the bootstrap, on which "equivalent" does not depend
        found = equivalence(seeded(x, 0 if paired else 100), seeded(base), 0.05, change=known)
        said += found.verdict == "equivalent"
    assert 0.02 <= said / 1000 <= 0.07


@pytest.mark.parametrize("margin", [0.0, 1.0, -0.1])
def test_a_margin_is_a_share_between_nothing_and_all(margin: float) -> None:
    with pytest.raises(ValueError, match="margin"):
        equivalence({1: 1.0}, {1: 1.0}, margin)
