"""A TCP stack: everything about it that can change a number.

Its fields, their bounds and their values are the engine's (`crates/transport/src/tcp/config.rs`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import Field

from flashcrowd.scenario.described import Variant, described
from flashcrowd.scenario.ledbat import Ledbat

if TYPE_CHECKING:

    class Stack(Variant):
        """A TCP stack."""

else:
    _BASE = "The stack that ships whose values hold where none are given."
    Stack = described(
        "stack",
        globals(),
        Variant,
        {"Ledbat": Ledbat},
        name="Stack",
        base=(str, Field(description=_BASE)),
    )
