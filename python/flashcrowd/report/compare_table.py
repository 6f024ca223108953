"""A comparison in a terminal: a table for each measure, a row for each point and folder."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich import box
from rich.console import Group, RenderableType
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
        yield _table(comparison, measure)


def _table(comparison: Comparison, measure: Measure) -> Table:
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
        table.add_column("point")
    table.add_column("folder", no_wrap=True)
    for heading in ("runs", "mean", "95 % interval", f"against {first}", "95 % interval"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    pairs = {pair.point.index: pair for pair in comparison.pairs(measure)}
    for group in comparison.settings:
        for number, point in enumerate(group):
            row: list[RenderableType] = []
            if swept:
                row.append("" if number else comparison.setting(point))
            row += [comparison.folder(point), *_numbers(measure.at(point))]
            pair = pairs.get(point.index)
            if pair is None:
                row += ["", "", ""]
            else:
                change = pair.found.change
                row += list(wording.change(change)) if change else ["–", ""]
                row.append(Text(pair.found.words, style=STYLES[pair.found.verdict]))
            table.add_row(*row, end_section=number == len(group) - 1 and swept)
    table.caption = compare_words.tally(comparison.pairs(measure))
    table.caption_justify = "left"
    return table


def _numbers(found: Estimate | None) -> list[RenderableType]:
    if found is None:
        return ["0", "–", "–"]
    return [str(found.n), wording.mean(found), wording.interval(found)]
