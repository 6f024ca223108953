"""The line as the user states it: its name or its rates, as everywhere."""

from __future__ import annotations

import re

from flashcrowd.base.units import Rate, UnitError
from flashcrowd.client_api.client import Refused

LEAST = 2048
"""Bytes per second below which controllers do not go."""


def uplink(text: str) -> int:
    """The upload rate of a line in bytes per second.

    Raises:
        Refused: it is none, or too low for any control.
    """
    # Imported here: a run without a line needs no scenarios.
    from flashcrowd.scenario.line import line_values

    if (number := re.fullmatch(r"\s*([0-9.]+)\s*[A-Za-z/]*\s*", text)) is not None:
        raise Refused(
            f'--line {text}: is a rate without a direction; the rate up is what counts: "up '
            f'{_rate(text) or _rate(f"{number[1]} Mbit/s") or "5 Mbit/s"}".'
        )
    try:
        found = Rate(line_values(text, down_too=False)["up"]).bps // 8
    except UnitError as error:
        raise Refused(f"--line {text}: {error}.") from None
    if found < LEAST:
        raise Refused(f"--line {text}: less than {LEAST * 8 / 1e3:g} kbit/s cannot be controlled.")
    return found


def _rate(text: str) -> Rate | None:
    try:
        return Rate(text)
    except UnitError:
        return None
