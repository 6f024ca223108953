import numpy as np
import pytest
from scipy import stats

from flashcrowd.report import wording
from flashcrowd.report.statistics import difference, estimate, widened_level


def test_a_mean_of_three_runs_has_the_interval_of_student() -> None:
    found = estimate([10.0, 12.0, 14.0])
    assert found.mean == 12.0
    assert found.n == 3
    half = 4.302652729911275 * 2.0 / np.sqrt(3)
    assert found.low == pytest.approx(12 - half)
    assert found.high == pytest.approx(12 + half)
    assert (found.minimum, found.maximum) == (10.0, 14.0)


def test_a_mean_of_ten_runs_is_the_bootstrap_at_the_widened_level() -> None:
    values = np.array([90, 94, 96, 98, 99, 101, 102, 104, 106, 110], dtype=float)
    found = estimate(values)
    # Symmetric data: the bootstrap comes close to Student's t, and never far from it.
    half = stats.t.ppf(0.975, 9) * values.std(ddof=1) / np.sqrt(10)
    assert found.low == pytest.approx(values.mean() - half, abs=0.15 * half)
    assert found.high == pytest.approx(values.mean() + half, abs=0.15 * half)


def test_the_level_is_widened_for_few_runs_and_not_for_many() -> None:
    assert widened_level(5) == pytest.approx(0.99809, abs=2e-4)
    assert widened_level(10) == pytest.approx(0.98288, abs=2e-4)
    assert widened_level(10_000) == pytest.approx(0.95, abs=1e-4)


@pytest.mark.parametrize("runs", [5, 10])
def test_intervals_cover_the_truth_as_often_as_they_promise(runs: int) -> None:
    random = np.random.default_rng(2)
    covered = 0
    for _ in range(200):
        found = estimate(random.normal(50, 4, runs))
        assert found.low is not None
        assert found.high is not None
        covered += found.low <= 50 <= found.high
    assert 0.89 <= covered / 200 <= 0.99


def test_a_single_run_is_a_sample_and_has_no_interval() -> None:
    found = estimate([3.5])
    assert found.is_sample
    assert (found.mean, found.n) == (3.5, 1)


def test_equal_runs_have_an_interval_of_no_width() -> None:
    found = estimate([2.0] * 8)
    assert (found.low, found.high) == (2.0, 2.0)


@pytest.mark.parametrize("runs", [2, 3, 8])
def test_runs_in_which_nothing_is_random_say_so(runs: int) -> None:
    """0.1 is no binary fraction: the mean of equal runs may differ from them in its last bit."""
    found = estimate([0.1] * runs)
    assert wording.with_interval(found, "s") == f"0.1000 s, all runs equal, n = {runs}"
    base, more = dict.fromkeys(range(runs), 0.1), dict.fromkeys(range(runs), 0.2)
    change = difference(more, base, relative=True)
    assert change is not None
    assert wording.per_cent(change) == f"2.0 times, all pairs equal, n = {runs}"
    assert "[" in wording.interval(estimate([0.1] * runs + [0.2]))
    assert wording.interval(estimate([0.1])) == "sample"


def test_no_run_and_a_run_that_is_no_number_are_refused() -> None:
    with pytest.raises(ValueError, match="at least one run"):
        estimate([])
    with pytest.raises(ValueError, match="finite"):
        estimate([1.0, float("nan")])


def test_nothing_is_a_hundred_per_cent_less_than_something() -> None:
    base = {100 + run: value for run, value in enumerate([3.0, 1.0, 4.0, 1.0, 5.0])}
    change = difference(dict.fromkeys(range(5), 0.0), base, relative=True)
    assert change is not None
    assert (change.mean, change.low, change.high) == (-1.0, -1.0, -1.0)


def test_large_numbers_that_are_as_far_apart_in_every_pair_differ_by_that() -> None:
    base = dict(enumerate([3e9, 1e9, 4.1e9, 1.5e9, 9.2e9]))
    change = difference({seed: value + 0.1 for seed, value in base.items()}, base)
    assert change is not None
    assert change.is_constant


def test_the_same_runs_give_the_same_interval() -> None:
    values = [1.0, 4.0, 2.0, 8.0, 5.0, 7.0]
    assert estimate(values) == estimate(values)


def test_pairs_remove_what_the_seeds_share() -> None:
    luck = np.random.default_rng(3).normal(0, 20, 8)
    base = {seed: 100 + luck[seed] for seed in range(8)}
    more = {seed: 1.1 * (100 + luck[seed]) for seed in range(8)}
    paired = difference(more, base, relative=True)
    apart = difference({100 + s: v for s, v in more.items()}, base, relative=True)
    assert paired is not None
    assert apart is not None
    assert paired.mean == pytest.approx(0.1)
    assert (paired.low, paired.high) == (pytest.approx(0.1), pytest.approx(0.1))
    assert paired.n == 8
    assert apart.low is not None
    assert apart.high is not None
    assert apart.high - apart.low > 0.1


def test_runs_without_a_partner_are_left_out_of_pairs() -> None:
    found = difference({1: 11.0, 2: 13.0, 9: 99.0}, {1: 10.0, 2: 12.0, 3: 50.0})
    assert found is not None
    assert (found.mean, found.n) == (1.0, 2)


def test_a_small_paired_ratio_agrees_with_the_delta_method() -> None:
    x, b = np.array([11.0, 12.5, 13.0]), np.array([10.0, 11.0, 12.0])
    found = difference(dict(enumerate(x)), dict(enumerate(b)), relative=True)
    ratio = x.mean() / b.mean()
    error = np.std((x - ratio * b) / b.mean(), ddof=1) / np.sqrt(3)
    assert found is not None
    assert found.mean == pytest.approx(ratio - 1)
    assert found.high == pytest.approx(ratio - 1 + stats.t.ppf(0.975, 2) * error)


def test_nothing_to_compare_gives_nothing() -> None:
    assert difference({}, {1: 1.0}) is None
    assert difference({1: 1.0}, {1: 0.0}, relative=True) is None


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("seed", [0, 100], ids=["in pairs", "apart"])
def test_a_base_that_is_nothing_in_some_runs_has_no_ratio(seed: int) -> None:
    base = dict(enumerate([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 2.0]))
    more = {seed + run: 1.0 + run for run in range(8)}
    assert difference(more, base, relative=True) is None
    assert difference(more, base) is not None
