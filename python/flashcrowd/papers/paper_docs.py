"""What a page of the documentation says of a paper, written from the runs.

A page has places between comments, and each is replaced:

<!-- claims of the whole campaign -->    how many claims met which verdict, and those that are not
<!-- claims of quick mode -->            reproduced (quick mode lists these only if the whole
                                         campaign does not); each with date, build and runs
<!-- item NAME -->                       the tables of a figure or table, of the whole campaign
<!-- item NAME by programs -->           the same, simulated and with real programs in one table,
                                         and how far they are apart; of either campaign

each up to ``<!-- end of claims -->`` or ``<!-- end of item -->``. A campaign with real programs
writes only the last of these, and others all but the last. The whole campaign may be several of
some studies each: beside the page is a record of what they have found, see `record`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from flashcrowd.drawing.blocks import Block, Cell, Table
from flashcrowd.papers import record
from flashcrowd.papers.claim import Judged
from flashcrowd.papers.distance import Distance
from flashcrowd.papers.evidence import Evidence
from flashcrowd.papers.paper import Paper
from flashcrowd.papers.record import Record
from flashcrowd.papers.verdict import Verdict
from flashcrowd.store import atomic

_BROKEN = f"{Verdict.NOT_REPRODUCED.value}: the paper says"

MODES = {False: "the whole campaign", True: "quick mode"}

_PLACE = re.compile(
    r"(?P<begin><!-- (?P<what>claims of (?P<mode>[a-z ]+)"
    r"|item (?P<item>[a-z0-9-]+)(?P<real> by programs)?) -->\n\n)"
    r"(?P<text>.*?)(?P<end>\n<!-- end of (?:claims|item) -->)",
    re.DOTALL,
)


class NoPlace(Exception):
    """A page has no place for what is to be written; says which line it lacks."""


def check(page: Path, *, quick: bool, real: bool = False, whole: bool = True) -> None:
    """Whether a page has a place for what this campaign writes.

    Args:
        page: the page.
        quick: whether the campaign is cut down.
        real: whether it is one of real programs.
        whole: whether it runs all studies.

    Raises:
        NoPlace: it cannot be read, or has none, or has verdicts that some studies would replace.
        RecordError: the record beside it cannot be read.
    """
    if real:
        if not any(match["real"] for match in _PLACE.finditer(_read(page))):
            raise NoPlace(
                f"{page}: has no place for real programs: a line <!-- item NAME by programs -->, "
                "and further down <!-- end of item -->, with an empty line after the one and "
                "before the other"
            )
        return
    wanted = MODES[quick]
    places = [match for match in _PLACE.finditer(_read(page)) if match["mode"] == wanted]
    if not places:
        raise NoPlace(
            f"{page}: has no place for the claims: a line <!-- claims of {wanted} -->, and further "
            "down <!-- end of claims -->, with an empty line after the one and before the other"
        )
    if not quick and record.read(page).studies:
        return  # they add up
    if not whole and any("| claims |" in match["text"] for match in places):
        raise NoPlace(
            f"{page}: has the verdicts of all studies for {wanted}, and some studies would replace "
            "them; run all, without --only, or delete what stands between the comments"
        )


def write(page: Path, paper: Paper, evidence: Evidence, judged: Sequence[Judged]) -> None:
    """Write what came out into the places of a page that are for it, and into its record.

    Raises:
        NoPlace: the page cannot be read.
        RecordError: the record beside it cannot be read.
    """
    found = record.of(evidence, judged)
    if not evidence.quick:
        found = record.read(page).after(found, paper.claims, paper.studies)
        record.write(page, found)
        judged = found.judged(paper.claims)
    written = replaced(_read(page), paper, evidence, found, judged)
    atomic.write_bytes(page, written.encode())


def replaced(
    text: str, paper: Paper, evidence: Evidence, found: Record, judged: Sequence[Judged]
) -> str:
    """The text of a page with the places for this campaign filled."""
    items = {item.id for item in paper.items if evidence.has(item.studies)}
    place = {match["mode"]: match["text"].strip() for match in _PLACE.finditer(text)}
    missed = not evidence.quick or _BROKEN not in place.get(MODES[False], "")

    def filled(match: re.Match[str]) -> str:
        if match["mode"] == MODES[evidence.quick]:
            new = claims(found, judged, missed=missed)
        elif match["item"] in items and not evidence.quick and not match["real"]:
            new = _tables(paper.figures[match["item"]](evidence))
        else:
            return match[0]
        return f"{match['begin']}{new}{match['end']}"

    return _PLACE.sub(filled, text)


def write_by_programs(
    page: Path, paper: Paper, simulated: Evidence, real: Evidence, distances: Sequence[Distance]
) -> None:
    """Write the items that real programs played into the places of a page that are for them.

    Raises:
        NoPlace: the page cannot be read.
    """

    def filled(match: re.Match[str]) -> str:
        known = {it.id: it for it in paper.items}
        item = known.get(match["item"] or "")
        if item is None or not match["real"] or not real.has(item.studies):
            return match[0]
        found = [paper.figures[item.id](evidence) for evidence in (simulated, real)]
        sides = [_shown(it) for it in found]
        tables = [it for pair in zip(*sides, strict=True) for it in beside(*pair)]
        rows = [[it] for of in distances if of.study in item.studies for it in of.sentences]
        tables.append(Table(["simulation and real programs"], rows, ""))
        return f"{match['begin']}{record.of(real, ()).sentence}\n\n{_tables(tables)}{match['end']}"

    atomic.write_bytes(page, _PLACE.sub(filled, _read(page)).encode())


def beside(simulated: Table, real: Table) -> list[Table]:
    """Two tables of the same things in one, what differs as simulated / real; both if units do."""
    if simulated.header != real.header:
        sides = ((simulated, "Simulated"), (real, "Real"))
        return [replace(it, caption=f"{name}. {it.caption}") for it, name in sides]
    words = real.heads
    sides = [[[_value(it) for it in row] for row in of.rows] for of in (simulated, real)]
    known = {tuple(row[:words]): row for row in sides[0]}
    rows = []
    for row in sides[1]:
        other = known.get(tuple(row[:words]), [*row[:words], *["–"] * (len(row) - words)])
        pairs = zip(other, row, strict=True)
        rows.append([it if one == it else f"{one} / {it}" for one, it in pairs])
    return [Table(real.header, rows, f"{real.caption} Simulated / real.")]


def _shown(blocks: Iterable[Block]) -> list[Table]:
    """The tables that the report shows at once, or all if it folds them."""
    tables = [it for it in blocks if isinstance(it, Table)]
    return [it for it in tables if not it.folded] or tables


def _value(cell: str | Cell) -> str:
    """A cell without the word for a mean of one run."""
    return cell.text if isinstance(cell, Cell) and cell.small == "sample" else _cell(cell)


def _read(page: Path) -> str:
    try:
        return page.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise NoPlace(f"{page}: {error}") from None


def claims(found: Record, judged: Sequence[Judged], *, missed: bool = True) -> str:
    """How many claims met which verdict; with `missed`, also those not reproduced."""
    counts = {v: sum(one.finding.verdict is v for one in judged) for v in Verdict}
    shown = [v for v, count in counts.items() if count]
    head = ["claims", *(v.value for v in shown)]
    tables = [Table(head, [[str(len(judged)), *(str(counts[v]) for v in shown)]], "")]
    if missed:
        broken = [one for one in judged if one.finding.verdict is Verdict.NOT_REPRODUCED]
        rows = [[one.claim.says, _where_missed(one.finding.measured)] for one in broken]
        tables.append(Table([_BROKEN, "measured"], rows, ""))
    return f"{found.sentence}\n\n{_tables(tables)}"


CELL = 140
"""Characters of a cell that is read at a glance."""


def _where_missed(measured: str) -> str:
    """Of a finding of several numbers those that were not met."""
    mark = f" ({Verdict.NOT_REPRODUCED.value})"
    missed = [part.replace(mark, "") for part in measured.split("; ") if mark in part]
    return _fitting(missed or measured.split("; "))


def _fitting(parts: list[str]) -> str:
    """As many parts as a cell of a page takes, the first in any case, and how many are left."""

    def cell(kept: int) -> str:
        left = [f"{len(parts) - kept} more in the report"] if kept < len(parts) else []
        return "; ".join([*parts[:kept], *left])

    cells = map(cell, range(len(parts), 0, -1))
    return next((one for one in cells if len(one) <= CELL), cell(1))


def _tables(blocks: Iterable[Block]) -> str:
    return "\n".join(_markdown(block) for block in blocks if isinstance(block, Table))


def _markdown(table: Table) -> str:
    """A table in Markdown; what stands below a cell in small type is in its line."""
    lines = [table.header, ["---"] * len(table.header), *table.rows]
    rows = "".join(f"| {' | '.join(map(_cell, line))} |\n" for line in lines)
    return f"{table.caption}\n\n{rows}" if table.caption else rows


def _cell(cell: str | Cell) -> str:
    text = cell if isinstance(cell, str) else f"{cell.text} {cell.small}".rstrip()
    return text.replace("|", "\\|").replace("\n", " ")
