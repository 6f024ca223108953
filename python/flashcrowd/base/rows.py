"""Rows of tables, as dictionaries, where they are not yet Arrow's."""

from __future__ import annotations

from typing import Any

Row = dict[str, Any]
"""A row of a table: its values by their columns."""
Rows = dict[str, list[Row]]
"""Rows of tables, by the table's name."""
