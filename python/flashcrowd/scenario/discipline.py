"""Queue disciplines: what decides which packets a link sends, marks or drops, and when.

Their parameters, bounds and defaults are the engine's (`crates/link/src/discipline`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BeforeValidator, Discriminator, Tag

from flashcrowd.scenario.described import Described, kinds, literal, union
from flashcrowd.scenario.queue import DISCIPLINES, Queue

_KINDS = kinds("queue", globals())
TABLES: dict[str, Any] = {kind: _KINDS[kind] for kind in DISCIPLINES}
"""The table of each discipline, by its kind."""


def _by_name(given: object) -> object:
    """The table of a name."""
    return {"kind": given} if isinstance(given, str) and given in DISCIPLINES else given


def _kind(given: Any) -> str | None:
    if isinstance(given, dict):
        return given.get("kind")
    return getattr(given, "kind", "drop-tail")


if TYPE_CHECKING:
    Discipline = Described
    AnyQueue = Queue | Described
else:
    Discipline = union(TABLES.values())
    """What decides when a packet leaves."""
    AnyQueue = Annotated[
        union(Annotated[it, Tag(kind)] for kind, it in {"drop-tail": Queue, **TABLES}.items()),
        Discriminator(_kind),
        BeforeValidator(_by_name, json_schema_input_type=literal(DISCIPLINES) | Queue | Discipline),
    ]
    """A queue: where a drop-tail queue is full, the name of a discipline, or a table."""
