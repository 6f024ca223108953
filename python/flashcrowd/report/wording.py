"""Numbers as text: as many digits as the interval supports, and always the count of runs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from flashcrowd.report.statistics import Estimate

MINUS = "\N{MINUS SIGN}"

ALL_EQUAL = "all runs equal"
"""Instead of an interval of width zero: nothing random decides this number."""

CLOSE = 0.1
"""Means that differ by less than this share are close together: another digit tells them apart."""


#: No number has more significant digits than this: the distance to reality is larger.
_MOST_DIGITS = 4

#: A unit, the amount above which the next one is used, that unit, and its size.
_LADDER = (
    ("ms", 1e4, "s", 1e3),
    ("s", 600.0, "min", 60.0),
    ("min", 600.0, "h", 60.0),
    ("MB", 1e4, "GB", 1e3),
    ("Mbit/s", 1e4, "Gbit/s", 1e3),
)

#: A unit, the one for amounts below `_SMALL` of it, and how many of that it is.
_SMALLER = (("Mbit/s", "kbit/s", 1e3), ("s", "ms", 1e3), ("MB", "kB", 1e3))

_SMALL = 0.1


def decimals(value: float, half_width: float | None) -> int:
    """How many decimals `value` deserves, given half the width of its interval.

    Below zero for a number of more than four digits before the point: its last ones are zeros.
    """
    if half_width and half_width > 0:
        return min(_finest(value), max(0, 1 - math.floor(math.log10(half_width))))
    if value == 0 or not math.isfinite(value):
        return 0
    return _finest(value)


def _finest(value: float) -> int:
    """Decimals of a number of four significant digits, but no more than four."""
    if value == 0 or not math.isfinite(value):
        return 4
    return min(4, _MOST_DIGITS - 1 - math.floor(math.log10(abs(value))))


def number(value: float, places: int, *, sign: bool = False) -> str:
    """A number with `places` decimals, a true minus and thin spaces between thousands."""
    value = round(value, places)
    text = f"{abs(value):,.{max(0, places)}f}".replace(",", "\u202f")
    if value == 0:
        return text
    return (MINUS if value < 0 else "+" if sign else "") + text


def plain(value: float) -> str:
    """A sample, four significant digits."""
    return number(value, decimals(value, None))


def readable(unit: str, values: Iterable[float]) -> tuple[str, float]:
    """The unit in which people read such values, and the factor to it: minutes beyond 600 s.

    Values of one column or sentence share it: the next unit is taken only if the smallest is one of
    it, and a smaller one only if all of them are small.
    """
    sizes = [abs(value) for value in values if value and math.isfinite(value)]
    for large, small, each in _SMALLER:
        if unit == large and sizes and max(sizes) < _SMALL:
            return small, each
    factor = 1.0
    for small, most, large, each in _LADDER:
        if unit == small and sizes and max(sizes) > most and min(sizes) >= each:
            sizes = [size / each for size in sizes]
            unit, factor = large, factor / each
    return unit, factor


def places_of(estimates: Iterable[Estimate | None]) -> int:
    """How many decimals a column of means has: three digits of the middle one.

    Four where they are close together, never more than the best known mean deserves, and no more
    than leave the largest four digits.
    """
    known = [each for each in estimates if each is not None]
    values = [abs(each.mean) for each in known if each.mean and math.isfinite(each.mean)]
    if not values:
        return 0
    middle = median(values)
    digits = 4 if max(values) - min(values) < CLOSE * middle else 3
    wanted = max(0, digits - 1 - math.floor(math.log10(middle)))
    return min(_finest(max(values)), wanted, max(map(_places, known)))


def _own_places(estimate: Estimate, places: int | None) -> int:
    """The decimals of its column, or more if these would leave a small mean one digit or none."""
    if places is None:
        return _places(estimate)
    if estimate.mean == 0 or abs(estimate.mean) >= 10.0 ** (1 - places):
        return places
    two = 1 - math.floor(math.log10(abs(estimate.mean)))
    return max(places, min(two, _places(estimate)))


def telling(estimate: Estimate, places: int) -> int:
    """The decimals of a mean and of its interval: from `places` the first that parts the ends.

    Ends that no number of decimals parts leave it at `places`.
    """
    if not estimate.is_constant and estimate.low is not None and estimate.high is not None:
        for more in range(places, _places(estimate) + 1):
            if number(estimate.low, more) != number(estimate.high, more):
                return more
    return places


def mean(
    estimate: Estimate, unit: str = "", *, sign: bool = False, places: int | None = None
) -> str:
    """The mean alone, with its unit; seconds beyond 600 as minutes, where no column fixes them."""
    if places is None:
        unit, estimate = _in_readable(estimate, unit)
    shown = telling(estimate, _own_places(estimate, places))
    text = number(estimate.mean, shown, sign=sign)
    return f"{text} {unit}" if unit else text


def _in_readable(estimate: Estimate, unit: str) -> tuple[str, Estimate]:
    unit, factor = readable(unit, [estimate.mean])
    return unit, estimate.scaled(factor) if factor != 1 else estimate


def interval(estimate: Estimate, *, sign: bool = False, places: int | None = None) -> str:
    """The interval in brackets, or the words that there is none.

    It has up to four digits where its ends would be one number; if they still are, it says that it
    is narrower than the last digit.
    """
    if estimate.is_constant:
        return ALL_EQUAL
    if estimate.low is None or estimate.high is None:
        return "sample"
    ends = estimate.low, estimate.high
    return bracket(ends, _own_places(estimate, places), _places(estimate), sign=sign)


def bracket(ends: tuple[float, float], least: int, most: int, *, sign: bool = False) -> str:
    """Both ends, with the first number of decimals that tells them apart."""
    for places in range(least, max(least, most) + 1):
        low, high = (number(end, places, sign=sign) for end in ends)
        if low != high:
            return f"[{low}, {high}]"
    last = max(least, most)
    return f"± < {number(10.0**-last, max(0, last))}"


def change(estimate: Estimate, places: int | None = None) -> tuple[str, str]:
    """A relative change and its interval with the count of pairs.

    In per cent; from a doubling up it is a factor, as in "19 times".

    Args:
        estimate: the change, 0.05 for 5 % more.
        places: decimals of the column of percentages; without, those of this one.
    """
    if is_factor := estimate.mean >= 1:
        shown, least = estimate.shifted(1), 0 if estimate.mean >= _TENFOLD else 1
        text = f"{number(shown.mean, telling(shown, least))} times"
    else:
        shown = estimate.scaled(100)
        least = _places_of_change(estimate) if places is None else places
        text = f"{number(shown.mean, telling(shown, least), sign=True)} %"
    if estimate.is_constant:
        return text, f"all pairs equal, {runs(shown.n)}"
    if shown.low is None or shown.high is None:
        return text, f"sample, {runs(shown.n)}"
    ends = bracket((shown.low, shown.high), least, _places(shown), sign=not is_factor)
    return text, f"{ends}, {runs(shown.n)}"


_TENFOLD = 8.95
"""A change that is ten times or more as large in two digits: its factor has no decimals."""


def change_places(estimates: Iterable[Estimate | None]) -> int:
    """How many decimals a column of percentages has; factors are not counted."""
    return min(
        places_of(each.scaled(100) for each in estimates if each is not None and each.mean < 1), 2
    )


def _places_of_change(estimate: Estimate) -> int:
    """Decimals of a change in per cent: three significant digits at most."""
    percent = abs(100 * estimate.mean)
    most = 0 if percent >= 100 else 1 if percent >= 10 else 2
    return min(most, _places(estimate.scaled(100)))


def with_interval(estimate: Estimate, unit: str = "", *, sign: bool = False) -> str:
    """Mean, interval and count of runs on one line."""
    unit, estimate = _in_readable(estimate, unit)
    ends = interval(estimate, sign=sign)
    apart = " " if ends.startswith(("[", "±")) else ", "
    return f"{mean(estimate, unit, sign=sign)}{apart}{ends}, {runs(estimate.n)}"


def per_cent(estimate: Estimate) -> str:
    """A relative change with its interval and count: ``+3.2 % [+2.9, +3.5], n = 10``."""
    text, below = change(estimate)
    return f"{text}{' ' if below.startswith(('[', '±')) else ', '}{below}"


def spread(estimate: Estimate, places: int | None = None) -> str:
    """Smallest and largest run."""
    places = _places(estimate) if places is None else telling(estimate, places)
    return f"{number(estimate.minimum, places)} to {number(estimate.maximum, places)}"


def runs(count: int) -> str:
    """``n = 10``."""
    return f"n = {count}"


def count(amount: int, singular: str, plural: str | None = None) -> str:
    """An amount with its noun: ``1 run``, ``3 runs``."""
    noun = singular if amount == 1 else plural or f"{singular}s"
    return f"{number(amount, 0)} {noun}"


def counts(least: int, most: int) -> str:
    """A count or a range: ``5 runs``, ``5 to 8 runs``."""
    return count(most, "run") if least == most else f"{least} to {most} runs"


def sentence(text: str) -> str:
    """The text with a capital at its beginning, and all else as it is."""
    return text[:1].upper() + text[1:]


def _places(estimate: Estimate) -> int:
    if estimate.low is None or estimate.high is None:
        return decimals(estimate.mean, None)
    return decimals(estimate.mean, (estimate.high - estimate.low) / 2)


def listed(parts: Sequence[str], word: str = "and") -> str:
    """Parts of a sentence: ``a, b and c``."""
    return f"{', '.join(parts[:-1])} {word} {parts[-1]}" if len(parts) > 1 else "".join(parts)


@dataclass(frozen=True, slots=True)
class Column:
    """How the means of a measure are written in sentences: as in a table that has no intervals.

    Attributes:
        unit: the unit.
        factor: what makes a mean one in that unit.
        places: decimals.
    """

    unit: str
    factor: float
    places: int

    @classmethod
    def of(cls, estimates: Iterable[Estimate | None], unit: str) -> Column:
        """That of such means in `unit`."""
        known = [each for each in estimates if each is not None]
        said, factor = readable(unit, [each.mean for each in known])
        return cls(said, factor, places_of(each.scaled(factor) for each in known))

    def level(self, *estimates: Estimate) -> str:
        """A number of a sentence; of several that are nearly one about their mean."""
        texts = dict.fromkeys(map(self._number, estimates))
        if len(texts) == 1:
            return f"{next(iter(texts))} {self.unit}"
        middle = math.fsum(each.mean for each in estimates) / len(estimates)
        return f"about {significant(middle * self.factor)} {self.unit}"

    def levels(self, estimates: Iterable[Estimate]) -> str:
        """A number, or from the smallest to the largest where they differ: ``2.2 to 2.3 ms``."""
        ranked = sorted(estimates, key=lambda each: each.mean)
        low, high = ranked[0], ranked[-1]
        first, last = self._number(low), self._number(high)
        if first == last or (low.mean > 0 and high.mean / low.mean < _ONE):
            return self.level(*ranked)
        return f"{first} to {last} {self.unit}"

    def _number(self, estimate: Estimate) -> str:
        shown = estimate.scaled(self.factor)
        return number(shown.mean, _own_places(shown, self.places))


_ONE = 1.02
"""Numbers that differ by a smaller factor are about their mean."""


def significant(value: float, beside: float | None = None, digits: int = 3) -> str:
    """A number with `digits` that count, those of the largest one `beside` it."""
    size = max(abs(value), 0.0) if beside is None else max(abs(beside), abs(value))
    if size == 0 or not math.isfinite(value):
        return number(value, 0)
    power = math.floor(math.log10(size)) - digits + 1
    # A number far smaller than its neighbour keeps two digits of its own.
    if value:
        power = min(power, math.floor(math.log10(abs(value))) - digits + 2)
    rounded = round(value / 10**power) * 10**power if power > 0 else value
    return number(rounded, max(0, -power))
