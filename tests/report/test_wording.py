"""Columns of means have one number of decimals, and answers name what is like the baseline."""

import re

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
        ((1e9, 2e9), -6),
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
    assert wording.interval(sample(15.1, 15.12, 15.13), places=0) == "[15.1, 15.2]"
    narrow = sample(151.1600, 151.1606, 151.1612)
    assert wording.mean(narrow, places=1) == "151.2"
    assert wording.interval(narrow, places=1) == "± < 0.1"
    assert wording.interval(sample(1.0, 2.0, 3.0), places=1) == "[\N{MINUS SIGN}0.5, 4.5]"
    assert wording.interval(sample(2.0, 2.0), places=1) == wording.ALL_EQUAL


@pytest.mark.parametrize(
    ("ratios", "text"),
    [((0.0831, 0.0832, 0.0833), "+8.32 %"), ((0.831, 0.832, 0.8331), "+83.2 %"),
     ((1.2, 1.32, 1.4), "2.3 times"), ((17.1, 18.46, 19.9), "19 times")],
)  # fmt: skip
def test_a_change_has_three_digits_and_is_a_factor_from_a_doubling_up(
    ratios: tuple[float, ...], text: str
) -> None:
    assert wording.change(sample(*ratios))[0] == text


@pytest.mark.parametrize(
    ("ratios", "ends"),
    [
        ((9.11, 9.15, 9.19), "[10.1, 10.2]"),
        ((1.3161, 1.3162, 1.3163), "± < 0.001"),
        ((0.84901, 0.84904, 0.84913), "[+84.89, +84.92]"),
        ((0.044801, 0.044802, 0.0448015), "± < 0.001"),
    ],
)
def test_the_ends_of_a_change_are_two_numbers(ratios: tuple[float, ...], ends: str) -> None:
    assert wording.change(sample(*ratios))[1] == f"{ends}, n = {len(ratios)}"


@pytest.mark.parametrize("places", [0, 1, 2, None])
@pytest.mark.parametrize("middle", [0.283, 9.2, 18.46, 27.68, 283.4])
@pytest.mark.parametrize("width", [0.4, 0.02, 0.003, 0.0004])
def test_a_mean_is_within_its_interval_as_printed(
    places: int | None, middle: float, width: float
) -> None:
    found = sample(middle * (1 - width), middle, middle * (1 + 0.9 * width))
    texts = [
        (wording.mean(found, places=places), wording.interval(found, places=places)),
        wording.change(found, places),
    ]
    for mean, ends in texts:
        if ends.startswith("["):
            low, value, high = (
                float(re.findall(r"[\d.]+", text)[0])
                for text in (ends.partition(",")[0], mean, ends.partition(",")[2])
            )
            assert low <= value <= high, (mean, ends)


@pytest.mark.parametrize(
    "value", [8.5220, 1073.623, 12_345.6, 0.012_345_6, 99.996, 2.0, 1e9, 151.1606]
)
def test_no_number_has_more_than_four_significant_digits(value: float) -> None:
    for found in (sample(value), sample(value * 0.99999, value, value * 1.00001)):
        for text in (wording.mean(found), wording.interval(found), wording.plain(value)):
            for number in re.findall(r"[\d.\u202f]+", text):
                digits = number.replace("\u202f", "").replace(".", "").lstrip("0")
                assert len(digits.rstrip("0") or digits) <= 4, text


def test_a_small_mean_of_a_column_keeps_two_digits() -> None:
    assert wording.mean(sample(4.12, 4.22, 4.32), places=0) == "4.2"
    assert wording.mean(sample(41.2, 42.2, 43.2), places=0) == "42"


@pytest.mark.parametrize(
    ("values", "expected"),
    [((2453.0,), ("min", 1 / 60)), ((2453.0, 30.0), ("s", 1.0)), ((599.0,), ("s", 1.0)),
     ((90_000.0, 4000.0), ("h", 1 / 3600)), ((), ("s", 1.0))],
)  # fmt: skip
def test_a_column_of_more_than_600_seconds_is_read_in_minutes(
    values: tuple[float, ...], expected: tuple[str, float]
) -> None:
    assert wording.readable("s", values) == pytest.approx(expected)
    assert wording.readable("kB/s", values) == ("kB/s", 1.0)


def test_a_column_and_a_sentence_of_small_values_are_read_in_one_smaller_unit() -> None:
    assert wording.readable("s", (0.02, 0.09)) == ("ms", 1e3)
    assert wording.readable("s", (0.02, 0.2)) == ("s", 1.0)
    means = [sample(0.0199, 0.0201), sample(0.0899, 0.0901)]
    assert wording.Column.of(means, "Mbit/s").levels(means) == "20.0 to 90.0 kbit/s"
    assert wording.mean(sample(0.0211, 0.0212, 0.0213), "s") == "21.20 ms"


def test_a_sentence_has_minutes_instead_of_thousands_of_seconds() -> None:
    assert wording.with_interval(sample(2452.0, 2453.0, 2454.0), "s") == (
        "40.88 min [40.84, 40.92], n = 3"
    )
