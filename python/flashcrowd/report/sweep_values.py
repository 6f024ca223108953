"""Sweep values as people write them, read back as numbers for an axis of a figure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from flashcrowd.diagram.curve import is_trace

_NUMBER = re.compile(r"^\s*([+-]?\d[\d_]*(?:\.\d+)?(?:[eE][+-]?\d+)?)\s*(\S.*?)?\s*$")

#: Units of one family, as multiples of the first: values of one axis may mix them.
_FAMILIES: tuple[dict[str, float], ...] = (
    {"s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "min": 60.0, "h": 3600.0},
    {"bit/s": 1.0, "kbit/s": 1e3, "Mbit/s": 1e6, "Gbit/s": 1e9},
    {"B/s": 1.0, "kB/s": 1e3, "KB/s": 1024.0, "KiB/s": 1024.0, "MB/s": 1e6, "MiB/s": 1048576.0},
    {"B": 1.0, "kB": 1e3, "KB": 1024.0, "KiB": 1024.0, "MB": 1e6, "MiB": 1048576.0, "GB": 1e9},
)


@dataclass(frozen=True, slots=True)
class Scale:
    """Numbers that one axis can carry.

    Attributes:
        values: the numbers, in order of the texts they come from.
        unit: their common unit, empty for plain numbers.
    """

    values: tuple[float, ...]
    unit: str


def scale(texts: Iterable[object]) -> Scale | None:
    """All of `texts` as numbers of one unit, or ``None`` if they are not quantities of one kind.

    The unit is that of the first non-zero value, so that "0 s, 200 ms" reads in milliseconds.
    """
    parsed = [_parse(text) for text in texts]
    if not parsed or any(entry is None for entry in parsed):
        return None
    pairs = [entry for entry in parsed if entry is not None]
    unit = next((u for number, u in pairs if number), pairs[0][1])
    numbers = [_convert(number, u, unit) for number, u in pairs]
    if any(number is None for number in numbers):
        return None
    return Scale(tuple(number for number in numbers if number is not None), unit)


def shown(value: object) -> str:
    """A sweep value as a person reads it in a table."""
    if isinstance(value, bool):
        return "on" if value else "off"
    if value is None:
        return "none"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, Mapping) and is_trace(value):
        return f"as in {value['file']}"
    text = str(value)
    if text.startswith("{"):
        return _table(text)
    return text


def _table(text: str) -> str:
    """A table that was swept, of which ``runs`` has the JSON: its plain values."""
    try:
        values = json.loads(text)
    except ValueError:
        return text
    if values.get("kind") == "distribution":
        return f"drawn from {values.get('file') or 'points'}"
    return " ".join(shown(v) for v in values.values() if not isinstance(v, dict | list))


def _parse(value: object) -> tuple[float, str] | None:
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int | float):
        return float(value), ""
    match = _NUMBER.match(str(value))
    if match is None:
        return None
    return float(match.group(1).replace("_", "")), match.group(2) or ""


def _convert(number: float, unit: str, target: str) -> float | None:
    if unit == target or number == 0:
        return number
    for family in _FAMILIES:
        if unit in family and target in family:
            return number * family[unit] / family[target]
    return None
