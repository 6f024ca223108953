"""Parameters of the LEDBAT family, for TCP stacks and uTP configurations alike.

The fields are the engine's (`crates/transport/src/congestion/ledbat/table.rs`). Where a file leaves
some out, the table that ships with the controller has them.
"""

from __future__ import annotations

from functools import cache

from flashcrowd.scenario.described import Described, described
from flashcrowd.scenario.mirror import Written, tables_from_plan

Ledbat = described("ledbat", globals(), Described)


@cache
def ledbats() -> dict[str, Written]:
    """For each controller of the family its table that ships."""
    from flashcrowd import _core

    return tables_from_plan(Ledbat, _core.ledbat_tables())
