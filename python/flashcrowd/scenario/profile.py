"""A BitTorrent client: everything about it that can change a number.

Its fields, their bounds and their values are the engine's (`crates/swarm/src/profile.rs`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import Field

from flashcrowd.scenario.described import Variant, described

if TYPE_CHECKING:

    class Profile(Variant):
        """A BitTorrent client."""

else:
    _BASE = "The profile that ships whose values hold where none are given."
    Profile = described(
        "profile",
        globals(),
        Variant,
        name="Profile",
        base=(str, Field(description=_BASE)),
    )
