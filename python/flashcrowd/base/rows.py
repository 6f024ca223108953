"""Rows of tables, as dictionaries, where they are not yet Arrow's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

Row = dict[str, Any]
"""A row of a table: its values by their columns."""
Rows = dict[str, list[Row]]
"""Rows of tables, by the table's name."""
Columns = Sequence[tuple[str, Sequence[tuple[str, Sequence[Any]]]]]
"""Tables by name, as their columns by name: as the core gives them."""


def of_columns(tables: Columns) -> Rows:
    """The rows of tables."""
    found: Rows = {}
    for name, columns in tables:
        names = [column for column, _ in columns]
        cells = zip(*(values for _, values in columns), strict=True)
        found[name] = [dict(zip(names, row, strict=True)) for row in cells]
    return found
