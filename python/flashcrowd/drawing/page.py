"""A page as HTML: one file, nothing to load from anywhere.

It reads on a screen, on a phone, on paper, in a light or a dark scheme, and by ear. Figures are
inside of it twice, laid out for screens and for phones, with colours that follow the scheme.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Sequence
from functools import cache
from hashlib import sha256
from importlib import resources

from jinja2 import DictLoader, Environment
from markupsafe import Markup

from flashcrowd.base.amounts import together
from flashcrowd.drawing import style
from flashcrowd.drawing.blocks import Block, Cell, Figure, Page, Playback, Table

_COLOR = re.compile(r"#[0-9a-fA-F]{6}\b")

#: What matplotlib says of all elements; in a page it would hold for all of the page.
_STYLE = re.compile(r"<defs>\s*<style.*?</style>\s*</defs>", re.DOTALL)

#: Markers of one line: nothing but uses of one form.
_MARKERS = re.compile(r"<g( clip-path[^>]*)>((?:\s*<use [^>]*/>){3,})\s*</g>")


_BLANK = re.compile(r"\n\s*\n+")


def _policy(scripts: Sequence[str]) -> str:
    """The content security policy of a page: run these scripts, and load nothing."""
    sums = (base64.b64encode(sha256(script.encode()).digest()).decode() for script in scripts)
    allowed = " ".join(f"'sha256-{it}'" for it in sums)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def html(page: Page) -> str:
    """The page as one self-contained HTML document."""
    environment = _environment()
    drawings = _Drawings()

    def render(block: Block) -> Markup:
        if isinstance(block, Table):
            block = _filled(block)
        template = environment.get_template("block.html")
        data = Markup(block.json.replace("<", "\\u003c")) if isinstance(block, Playback) else ""
        kind = type(block).__name__
        text = template.render(block=block, kind=kind, drawings=drawings, data=data)
        return Markup(text)

    scripts = [_template("reading.js"), *([_template("playback.js")] if _moves(page) else [])]
    scripts = [f"\n{_BLANK.sub(chr(10), script)}" for script in scripts]
    body = environment.get_template("body.html").render(page=page, render=render)
    text = environment.get_template("page.html").render(
        page=page,
        css=Markup(_template("style.css")),
        colors=Markup(drawings.css()),
        body=Markup(body),
        scripts=[Markup(script) for script in scripts],
        policy=_policy(scripts),
    )
    return _BLANK.sub("\n", text)


def figures(page: Page) -> dict[str, bytes]:
    """The page's figures by the names of their files, in each format that was asked for."""
    files: dict[str, bytes] = {}
    for figure in page.figures():
        formats = {"svg": figure.svg.wide.encode(), "csv": figure.svg.data.encode()}
        formats |= figure.svg.printed
        files |= {f"{figure.slug}.{suffix}": it for suffix, it in formats.items() if it}
    return files


class _Drawings:
    """The drawings of one document: each with ids of its own, all with the document's colours."""

    def __init__(self) -> None:
        self._count = 0
        self._colors: set[str] = set()

    def of(self, figure: Figure) -> list[tuple[Markup, Markup]]:
        """For screens and for phones: the drawing, and the same with a logarithmic ordinate."""
        drawn = [
            (figure.svg.wide, figure.svg.narrow),
            *([figure.svg.log] if figure.svg.log else []),
        ]
        return [(self._inside(wide), self._inside(narrow)) for wide, narrow in drawn]

    def css(self) -> str:
        """The colours of all drawings so far, as variables for both schemes."""
        light = "".join(f"--f{color}:#{color};" for color in sorted(self._colors))
        dark = "".join(f"--f{color}:{style.dark(f'#{color}')};" for color in sorted(self._colors))
        return (
            f":root{{{light}}}\n@media screen and (prefers-color-scheme:dark){{:root{{{dark}}}}}"
            if self._colors
            else ""
        )

    def _inside(self, svg: str) -> Markup:
        if not svg:
            return Markup("")
        self._count += 1
        svg = _STYLE.sub("", svg, count=1)
        svg = re.sub(r'<svg font-family="[^"]*"', "<svg", svg)
        svg = re.sub(r'style="[^"]*"', lambda found: self._themed(found[0]), svg)
        svg = _MARKERS.sub(_alike, svg)
        return Markup(_own_ids(svg, f"d{self._count}-"))

    def _themed(self, declarations: str) -> str:
        def variable(found: re.Match[str]) -> str:
            color = found[0][1:].lower()
            self._colors.add(color)
            return f"var(--f{color})"

        return _COLOR.sub(variable, declarations)


@cache
def _environment() -> Environment:
    names = ("page.html", "body.html", "block.html")
    made = Environment(
        loader=DictLoader({name: _template(name) for name in names}),
        autoescape=True,
        trim_blocks=True,
    )
    made.filters["together"] = together
    return made


def _template(name: str) -> str:
    return (resources.files("flashcrowd.drawing") / "templates" / name).read_text(encoding="utf-8")


def _moves(page: Page) -> bool:
    return any(isinstance(b, Playback) for section in page.sections for b in section.blocks)


def _alike(found: re.Match[str]) -> str:
    """Markers that look alike say so once."""
    styles = set(re.findall(r' style="[^"]*"', found[2]))
    if len(styles) != 1:
        return found[0]
    style_of_all = styles.pop()
    return f"<g{found[1]}{style_of_all}>{found[2].replace(style_of_all, '')}</g>"


def _own_ids(svg: str, prefix: str) -> str:
    """Give the ids of a drawing a prefix: several drawings share one document."""
    svg = re.sub(r'\bid="', f'id="{prefix}', svg)
    svg = re.sub(r'href="#', f'href="#{prefix}', svg)
    return svg.replace("url(#", f"url(#{prefix}")


def _filled(table: Table) -> Table:
    rows = [[c if isinstance(c, Cell) else Cell(c) for c in row] for row in table.rows]
    return Table(table.header, rows, table.caption, table.text_columns, table.folded)
