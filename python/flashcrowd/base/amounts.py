"""Amounts as people write them: three digits, and a prefix for each thousand."""

from __future__ import annotations

import re


def scaled(value: float, unit: str, prefixes: str = "kMGT") -> str:
    """A value and its unit, by the largest of these prefixes that leaves a digit in front."""
    if value < 999.5:
        return f"{value:.0f} {unit}".rstrip()
    for prefix in prefixes:
        value /= 1000
        if value < 999.5:
            return f"{value:.3g} {prefix}{unit}"
    return f"{value:.0f} {prefixes[-1]}{unit}"


def counted(amount: int, noun: str) -> str:
    """An amount and its noun, which takes an s if it is not one."""
    return f"{amount} {noun}" if amount == 1 else f"{amount} {noun}s"


def duration(seconds: float) -> str:
    """Seconds, as people write them."""
    units = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"), (1e-3, "ms"))
    unit, name = next((it for it in units if seconds >= it[0]), units[-1])
    count = seconds / unit
    return f"{count:.0f} {name}" if count >= 10 else f"{count:.2g} {name}"


_UNIT = r"%|times|(?:[mµu]?s|min|h|(?:[kKMG]i?)?B(?:/s)?|[kMG]?bit/s)\b"
_TOGETHER = re.compile(rf"(?<=\d) (?={_UNIT})|(?<=\bn) (?== \d)|(?<=\bn =) (?=\d)")


def together(text: str) -> str:
    """The text with numbers that stay beside their units where lines are broken."""
    return _TOGETHER.sub("\u00a0", text)
