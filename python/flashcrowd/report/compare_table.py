"""A comparison in a terminal: a table for each measure, a row for each point and folder."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich import box
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from flashcrowd.report import compare_words, wording
from flashcrowd.report.measures import Measure
from flashcrowd.report.statistics import Estimate

if TYPE_CHECKING:
    from flashcrowd.report.compare import Comparison

STYLES = {"equivalent": "green", "different": "bold red", "undecided": "yellow"}
"""Colours of the verdicts; the word stands beside."""


def summary(comparison: Comparison, tables: int | None = None) -> RenderableType:
    """What a terminal shows: notices, the answer, and the tables of so many measures."""
    return Group(*_parts(comparison, tables))


def _parts(comparison: Comparison, tables: int | None) -> Iterator[RenderableType]:
    for notice in comparison.notices:
        yield Text(notice, style="yellow")
    for sentence in comparison.answer():
        yield Text(sentence)
    for measure in comparison.measures[:tables]:
        yield _Levels(comparison, measure)


#: Wider than any table, to ask how much room one would take.
_ROOMY = 10_000

#: Names of points are broken into lines of about so many characters before anything is left out.
_POINT = 24

#: Where the intervals are: nowhere, below their means, or in columns of their own.
_NONE, _BELOW, _BESIDE = 0, 1, 2


@dataclass(frozen=True)
class _Levels:
    """One measure as a table; as much of it as the terminal has room for, and always the names."""

    comparison: Comparison
    measure: Measure

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yields the table with its intervals where there is room for them."""
        roomy = options.update(max_width=_ROOMY)
        for intervals in (_BESIDE, _BELOW):
            probe = _table(self.comparison, self.measure, intervals, _POINT)
            if Measurement.get(console, roomy, probe).maximum <= options.max_width:
                yield _table(self.comparison, self.measure, intervals)
                return
        yield _table(self.comparison, self.measure, _NONE)


def _table(
    comparison: Comparison, measure: Measure, intervals: int, point_width: int | None = None
) -> Table:
    first = comparison.sides[0].name
    table = Table(
        title=f"{wording.sentence(measure.name)} ({measure.unit})",
        title_justify="left",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        padding=(0, 1, 0, 0),
    )
    swept = any(comparison.setting(group[0]) for group in comparison.settings)
    if swept:
        table.add_column("point", max_width=point_width)
    table.add_column("folder", no_wrap=intervals != _NONE, overflow="fold")
    if intervals == _BESIDE:
        headings = ["runs", "mean", "95 % interval", f"against {first}", "95 % interval"]
    else:
        headings = ["mean", f"against\n{first}"]
    for heading in headings:
        table.add_column(heading, justify="right", no_wrap=True)
    if intervals != _NONE:
        table.add_column("verdict", no_wrap=True)
    pairs = {pair.point.index: pair for pair in comparison.pairs(measure)}
    for group in comparison.settings:
        for number, point in enumerate(group):
            row: list[RenderableType] = []
            if swept:
                row.append("" if number else comparison.setting(point))
            row += [comparison.folder(point), *_numbers(measure.at(point), intervals)]
            pair = pairs.get(point.index)
            if pair is None:
                row += [""] * {_BESIDE: 3, _BELOW: 2, _NONE: 1}[intervals]
            else:
                change = pair.found.change
                number, interval = wording.change(change) if change else ("–", "")
                words = pair.found.words if intervals == _BESIDE else pair.found.verdict
                verdict = Text(words, style=STYLES[pair.found.verdict])
                if intervals == _NONE:
                    row.append(Text.assemble(number, "\n", verdict))
                else:
                    row += [*_placed(number, interval, intervals), verdict]
            table.add_row(*row, end_section=number == len(group) - 1 and swept)
    table.caption = compare_words.tally(comparison.pairs(measure))
    table.caption_justify = "left"
    return table


def _numbers(found: Estimate | None, intervals: int) -> list[RenderableType]:
    count = str(found.n) if found else "0"
    numbers = (wording.mean(found), wording.interval(found)) if found else ("–", "–")
    return [*([count] if intervals == _BESIDE else []), *_placed(*numbers, intervals)]


def _placed(number: str, interval: str, intervals: int) -> list[RenderableType]:
    """A number and its interval, where the table has intervals."""
    if intervals == _BESIDE:
        return [number, interval]
    below = interval.rpartition(", n")[0] or interval
    return [f"{number}\n{below}" if intervals == _BELOW else number]
