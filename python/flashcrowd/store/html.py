"""Results as a notebook shows them: the title, the summary of the terminal, and where they are."""

from __future__ import annotations

import io
from html import escape
from typing import TYPE_CHECKING

from flashcrowd.store.errors import ResultsError

if TYPE_CHECKING:
    from rich.console import RenderableType

    from flashcrowd.store.results import Results, Tables

WIDE = 160
"""Columns that the summary may take; a notebook scrolls."""


def amount(count: int, noun: str = "row") -> str:
    """A count with its noun."""
    return f"{spaced(count)} {noun}{'' if count == 1 else 's'}"


def spaced(count: int) -> str:
    """A count with a thin space before each three digits."""
    return f"{count:,}".replace(",", "\N{THIN SPACE}")


def results(of: Results) -> str:
    """The answer first, then where the tables are."""
    try:
        title = str(of.study.get("title", of.path.name))
        body = _summary(of)
        runs = amount(of.tables["runs"].num_rows, "run")
    except ResultsError as error:
        return f"<pre>{escape(str(error))}</pre>"
    points = amount(len(of.manifest.points), "point")
    names = ", ".join(f"<code>{escape(name)}</code>" for name in of.tables)
    return (
        f"<div><strong>{escape(title)}</strong>{body}"
        f"<small>{runs} of {points} in <code>{escape(str(of.path))}</code>. "
        f"Tables: {names}</small></div>"
    )


def tables(of: Tables) -> str:
    """Each table with its rows."""
    try:
        rows = of.rows()
    except ResultsError as error:
        return f"<pre>{escape(str(error))}</pre>"
    lines = "".join(
        f'<tr><th scope="row" style="text-align:left">{escape(name)}</th>'
        f"<td>{spaced(count)}</td></tr>"
        for name, count in rows.items()
    )
    head = '<tr><th scope="col" style="text-align:left">table</th><th scope="col">rows</th></tr>'
    return f"<table><thead>{head}</thead><tbody>{lines}</tbody></table>"


def printed(what: RenderableType) -> str:
    """What a terminal prints, with its colours."""
    from rich.console import Console

    console = Console(record=True, file=io.StringIO(), width=WIDE, force_jupyter=False)
    console.print(what)
    return console.export_html(inline_styles=True, code_format="<pre>{code}</pre>")


def _summary(of: Results) -> str:
    """What the terminal prints after a run; nothing where the report's libraries are missing."""
    try:
        from flashcrowd.report import summary  # late: plotting libraries take a while to load
    except ModuleNotFoundError:
        return "<br>"
    return printed(summary(of))
