"""Amounts as people write them: three digits, and a prefix for each thousand."""

from __future__ import annotations


def scaled(value: float, unit: str, prefixes: str = "kMGT") -> str:
    """A value and its unit, by the largest of these prefixes that leaves a digit in front."""
    if value < 999.5:
        return f"{value:.0f} {unit}".rstrip()
    for prefix in prefixes:
        value /= 1000
        if value < 999.5:
            return f"{value:.3g} {prefix}{unit}"
    return f"{value:.0f} {prefixes[-1]}{unit}"
