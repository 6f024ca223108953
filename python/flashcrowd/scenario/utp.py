"""A uTP configuration: everything about it that can change a number.

Its fields, their bounds and their values are the engine's (`crates/transport/src/utp/config.rs`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import Field

from flashcrowd.scenario.described import Variant, described
from flashcrowd.scenario.ledbat import Ledbat

if TYPE_CHECKING:

    class Utp(Variant):
        """A uTP configuration."""

else:
    _BASE = "The configuration that ships whose values hold where none are given."
    Utp = described(
        "utp",
        globals(),
        Variant,
        {"Ledbat": Ledbat},
        name="Utp",
        base=(str, Field(description=_BASE)),
    )
