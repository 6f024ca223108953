"""The distributions that ship under the name ``iplane``, read as what they are: files."""

from __future__ import annotations

from functools import cache
from importlib import resources

import numpy as np


@cache
def quantiles(what: str) -> tuple[np.ndarray, np.ndarray]:
    """Cumulative fractions and values of ``rtt`` (milliseconds) or ``loss`` (per cent)."""
    file = resources.files("flashcrowd.scenario") / "data" / f"iplane-{what}.csv"
    lines = [line for line in file.read_text(encoding="utf-8").splitlines() if line]
    rows = [line.split(",") for line in lines if not line.startswith("#")][1:]
    return (
        np.asarray([float(fraction) for fraction, _ in rows]),
        np.asarray([float(value) for _, value in rows]),
    )


def fraction_below(what: str, value: float) -> float:
    """Share of the links with less than `value`."""
    fractions, values = quantiles(what)
    return float(np.interp(value, values, fractions))
