"""Tables as a notebook shows them, and whatever a terminal prints."""

from __future__ import annotations

import io
from collections.abc import Mapping
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import RenderableType

WIDE = 160
"""Columns that the summary may take; a notebook scrolls."""


def amount(count: int, noun: str = "row") -> str:
    """A count with its noun."""
    return f"{spaced(count)} {noun}{'' if count == 1 else 's'}"


def spaced(count: int) -> str:
    """A count with a thin space before each three digits."""
    return f"{count:,}".replace(",", "\N{THIN SPACE}")


def text(of: str) -> str:
    """A text as it stands, an error say."""
    return f"<pre>{escape(of)}</pre>"


def tables(rows: Mapping[str, int]) -> str:
    """Each table with how many rows it has."""
    lines = "".join(
        f'<tr><th scope="row" style="text-align:left">{escape(name)}</th>'
        f"<td>{spaced(count)}</td></tr>"
        for name, count in rows.items()
    )
    head = '<tr><th scope="col" style="text-align:left">table</th><th scope="col">rows</th></tr>'
    return f"<table><thead>{head}</thead><tbody>{lines}</tbody></table>"


def printed(what: RenderableType) -> str:
    """The output of a terminal, with its colours."""
    from rich.console import Console

    console = Console(record=True, file=io.StringIO(), width=WIDE, force_jupyter=False)
    console.print(what)
    return console.export_html(inline_styles=True, code_format="<pre>{code}</pre>")
