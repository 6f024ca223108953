"""Columns of means have one number of decimals, and answers name what is like the baseline."""

import pytest

from flashcrowd.report import wording
from flashcrowd.report.statistics import Estimate, estimate


def sample(*values: float) -> Estimate:
    found = estimate(list(values))
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("columns", "places"),
    [
        ((348.12, 310.5, 1524.0), 0),
        ((4.82, 0.297, 2.45), 2),
        ((51.2, 52.4, 50.15), 2),
        ((51.2, 52.4, 515.76), 1),
        ((0.0, 0.0), 0),
        ((), 0),
        ((1e9, 2e9), 0),
        ((1e-9, 3e-9), 4),
    ],
)
def test_a_column_has_three_digits_of_its_middle_or_four_if_all_are_close(
    columns: tuple[float, ...], places: int
) -> None:
    means = [sample(it * 0.9999, it, it * 1.0001) for it in columns]
    assert wording.places_of([*means, None]) == places


def test_no_column_has_more_digits_than_any_of_its_means_deserves() -> None:
    assert wording.places_of([sample(1.0, 2.0, 3.0), sample(1.5, 2.5, 3.5)]) == 1


def test_an_interval_is_as_long_as_it_takes_to_tell_its_ends_apart() -> None:
    narrow = sample(151.1600, 151.1606, 151.1612)
    assert wording.interval(narrow, places=1) == "[151.159, 151.162]"
    assert wording.mean(narrow, places=1) == "151.2"
    assert wording.interval(sample(1.0, 2.0, 3.0), places=1) == "[\N{MINUS SIGN}0.5, 4.5]"
    assert wording.interval(sample(2.0, 2.0), places=1) == wording.ALL_EQUAL


@pytest.mark.parametrize(
    ("ratios", "text"),
    [((0.0831, 0.0832, 0.0833), "+8.32 %"), ((0.831, 0.832, 0.8331), "+83.2 %"),
     ((8.31, 8.32, 8.33), "+832 %")],
)  # fmt: skip
def test_a_change_has_three_digits_at_most(ratios: tuple[float, ...], text: str) -> None:
    assert wording.change(sample(*ratios))[0] == text
