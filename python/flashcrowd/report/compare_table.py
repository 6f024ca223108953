"""A comparison in a terminal: a table for each measure, a row for each point and folder."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich import box
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from flashcrowd.report import compare_words, wording
from flashcrowd.report.compare_pairs import Pairs
from flashcrowd.report.measures import Measure
from flashcrowd.report.points import Point
from flashcrowd.report.statistics import Estimate

STYLES = {"equivalent": "green", "different": "bold red", "undecided": "yellow"}
"""Colours of the verdicts; the word stands beside."""


def summary(comparison: Pairs, tables: int | None = None) -> RenderableType:
    """The output on a terminal: notices, the answer, differences, and `tables` tables."""
    return Group(*_parts(comparison, tables))


def _parts(comparison: Pairs, tables: int | None) -> Iterator[RenderableType]:
    for notice in comparison.notices:
        yield Text(notice, style="yellow")
    for sentence in compare_words.sentences(comparison):
        yield Text(sentence)
    yield Text(compare_words.differing(comparison))
    for measure in comparison.measures[:tables]:
        yield _Sides(comparison, measure)


#: Wider than any table, to ask how much room one would take.
_ROOMY = 10_000

#: Points may be broken into lines of at least this length.
_POINT = 14

#: Where the intervals of a table stand.
_BESIDE, _BELOW, _NOWHERE = 0, 1, 2


@dataclass(frozen=True)
class _Sides:
    """A measure in all folders: one table, or one for each point where there is little room."""

    comparison: Pairs
    measure: Measure

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yields as many intervals as there is room for, and the verdict always."""
        yield Text(
            f"{wording.sentence(self.measure.name)} ({self.measure.unit})", style="table.title"
        )
        roomy = options.update(max_width=_ROOMY)
        settings = self.comparison.settings
        longest = max(len(self.comparison.setting(group[0])) for group in settings)
        for intervals in (_BESIDE, _BELOW):
            table = self._table(settings, intervals, swept=bool(longest))
            table.columns[0].width = min(_POINT, longest) if longest else None
            fits = Measurement.get(console, roomy, table).maximum <= options.max_width
            table.columns[0].width = None
            if fits:
                yield table
                break
        else:
            for group in settings:
                if longest:
                    yield Text(self.comparison.setting(group[0]), style="bold")
                yield self._table([group], _NOWHERE, swept=False)
        tally = compare_words.tally(self.comparison.pairs(self.measure))
        yield Text(tally, style="table.caption")

    def _table(self, settings: Sequence[Sequence[Point]], intervals: int, *, swept: bool) -> Table:
        first = self.comparison.sides[0].name
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
        if swept:
            table.add_column("point")
        table.add_column("folder", no_wrap=intervals != _NOWHERE, overflow="fold")
        numbers = ["runs", "mean", "95 % interval", f"against {first}", "95 % interval"]
        kept = {_BESIDE: (0, 1, 2, 3, 4), _BELOW: (0, 1, 3), _NOWHERE: (1, 3)}[intervals]
        for number in kept:
            table.add_column(numbers[number], justify="right", no_wrap=intervals != _NOWHERE)
        table.add_column("verdict", no_wrap=intervals == _BESIDE)
        pairs = {pair.point.index: pair for pair in self.comparison.pairs(self.measure)}
        places = self.measure.places(it for group in self.comparison.settings for it in group)
        for group in settings:
            for number, point in enumerate(group):
                row: list[RenderableType] = []
                if swept:
                    row.append("" if number else self.comparison.setting(point))
                row.append(self.comparison.folder(point))
                cells = [*_numbers(self.measure.at(point), places), "", "", ""]
                pair = pairs.get(point.index)
                if pair is not None:
                    change = pair.found.change
                    cells[3:5] = wording.change(change) if change else ["–", ""]
                if intervals == _BELOW:
                    cells[1] = f"{cells[1]}\n{cells[2]}"
                    cells[3] = f"{cells[3]}\n{cells[4].rpartition(', n')[0]}"
                row += [cells[number] for number in kept]
                if pair is not None:
                    row.append(Text(pair.found.words, style=STYLES[pair.found.verdict]))
                table.add_row(*row, end_section=number == len(group) - 1 and swept)
        return table


def _numbers(found: Estimate | None, places: int) -> list[str]:
    if found is None:
        return ["0", "–", "–"]
    return [
        str(found.n),
        wording.mean(found, places=places),
        wording.interval(found, places=places),
    ]
