"""What a person says of the line: `up 1 Mbit/s`."""

from __future__ import annotations

from flashcrowd.autolimit.client import Refused
from flashcrowd.units import Rate, UnitError

_EXAMPLE = 'write it as in "up 1 Mbit/s"'
LEAST = 2048
"""Bytes per second below which controllers do not go."""


def uplink(text: str) -> int:
    """The upload rate of a line in bytes per second.

    Raises:
        Refused: it is none, or too low for any control.
    """
    direction, _, rate = text.strip().partition(" ")
    if direction != "up":
        raise Refused(f"--line {text}: {_EXAMPLE}.")
    try:
        found = int(Rate(rate.strip()).amount) // 8
    except UnitError as error:
        raise Refused(f"--line {text}: {error}.") from None
    if found < LEAST:
        raise Refused(f"--line {text}: less than {LEAST * 8 / 1e3:g} kbit/s cannot be controlled.")
    return found
