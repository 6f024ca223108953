"""A page as HTML: one file, no scripts, nothing to load from anywhere."""

from __future__ import annotations

import re
from functools import cache
from importlib import resources
from pathlib import Path

from jinja2 import DictLoader, Environment
from markupsafe import Markup

from flashcrowd.report.blocks import Block, Cell, Figure, Page, Table
from flashcrowd.store import atomic


def html(page: Page) -> str:
    """The page as one self-contained HTML document."""
    environment = _environment()
    seen: dict[str, int] = {}

    def render(block: Block) -> Markup:
        svg = ""
        if isinstance(block, Figure):
            seen[block.slug] = seen.get(block.slug, 0) + 1
            svg = Markup(_own_ids(block.svg, f"{block.slug}-{seen[block.slug]}-"))
        if isinstance(block, Table):
            block = _filled(block)
        template = environment.get_template("block.html")
        return Markup(template.render(block=block, kind=type(block).__name__, svg=svg))

    text = environment.get_template("page.html").render(
        page=page, css=Markup(_template("style.css")), render=render
    )
    return re.sub(r"\n\s*\n+", "\n", text)


def save(page: Page, folder: Path, name: str = "report.html") -> Path:
    """Write the page and its figures into `folder`; gives the path of the page.

    Other files in the folder, and in its ``figures``, are left alone.

    Raises:
        ResultsError: the folder cannot be written to.
    """
    figures = folder / "figures"
    with atomic.naming(figures):
        figures.mkdir(parents=True, exist_ok=True)
    for figure in page.figures():
        atomic.write_bytes(figures / f"{figure.slug}.svg", figure.svg.encode())
    path = folder / name
    atomic.write_bytes(path, html(page).encode())
    return path


@cache
def _environment() -> Environment:
    names = ("page.html", "block.html")
    return Environment(
        loader=DictLoader({name: _template(name) for name in names}),
        autoescape=True,
        trim_blocks=True,
    )


def _template(name: str) -> str:
    return (resources.files("flashcrowd.report") / "templates" / name).read_text(encoding="utf-8")


def _own_ids(svg: str, prefix: str) -> str:
    """Give the ids of a drawing a prefix: several drawings share one document."""
    svg = re.sub(r'\bid="', f'id="{prefix}', svg)
    svg = re.sub(r'href="#', f'href="#{prefix}', svg)
    return svg.replace("url(#", f"url(#{prefix}")


def _filled(table: Table) -> Table:
    rows = [[c if isinstance(c, Cell) else Cell(c) for c in row] for row in table.rows]
    return Table(table.header, rows, table.caption, table.text_columns, table.folded)
