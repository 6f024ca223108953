"""Bounds of what is expected of a measure: "100 ms", "2 Mbit/s", "-5 %".

Studies are checked by them, and reports judge by them.
"""

from __future__ import annotations

import re

from flashcrowd.base.metrics import Metric
from flashcrowd.base.units import Rate, Share, Span, UnitError

LEVELS = ("below", "above")
"""Keys of an expectation that bound a measure."""

CHANGES = ("change_below", "change_above")
"""Keys of an expectation that bound its change against the baseline."""

KEYS = (*LEVELS, *CHANGES)

CHANGE = "change"
"""The unit of a bound of a change."""

_CHANGE = re.compile(r"\s*([+\N{MINUS SIGN}-]?)\s*(\d+(?:\.\d+)?)\s*%\s*")
_COUNT = re.compile(r"\s*(\d+(?:\.\d+)?)\s+packets?\s*")


def unit_of(key: str, metric: Metric) -> str:
    """The unit in which the bound under `key` is compared."""
    return CHANGE if key in CHANGES else metric.unit


def smallest(text: str, metric: Metric) -> tuple[float, float]:
    """A difference of a measure: as a share of it, or as an amount in its unit; the other is 0.

    Of a metric that is a share itself it is an amount, in points.

    Raises:
        UnitError: it is neither.
    """
    if metric.unit != "%" and text.strip().endswith("%"):
        return Share(text).value, 0.0
    try:
        return 0.0, amount(text, metric.unit)
    except UnitError as error:
        if metric.unit == "%":
            raise
        raise UnitError(f'a share, as in "5 %", or {error.allowed}', error.hint) from None


def amount(text: str, unit: str) -> float:
    """A bound as a number in a unit of measures; that of a change as a share.

    Raises:
        UnitError: it is none.
    """
    if unit == CHANGE:
        match = _CHANGE.fullmatch(text)
        if match is None:
            raise UnitError('a change in per cent, as in "5 %" or "-5 %"')
        return float(match[2]) / 100 * (1 if match[1] in ("", "+") else -1)
    if unit in ("s", "ms"):
        return Span(text).seconds / (1e-3 if unit == "ms" else 1)
    if unit == "Mbit/s":
        return Rate(text).bps / 1e6
    if unit == "%":
        return Share(text).value * 100
    match = _COUNT.fullmatch(text)
    if unit == "packets" and match is not None:
        return float(match[1])
    raise UnitError(f'an amount in {unit}, as in "100 {unit}"')
