"""Columns of a table: every number of one has the same unit and the same number of decimals."""

from __future__ import annotations

from collections.abc import Sequence

from flashcrowd.drawing.blocks import Cell, Table
from flashcrowd.report import wording
from flashcrowd.report.measure import Measure
from flashcrowd.report.points import Point
from flashcrowd.report.statistics import Estimate

#: Stands where a point has no number.
NONE = "–"

#: The means of a column, from the first row to the last; ``None`` where there is none.
Column = Sequence[Estimate | None]

#: A row before its means are text: they have the precision of their column.
Row = list[str | Cell | Estimate | None]


def of_measure(measure: Measure, points: Sequence[Point]) -> Column:
    """The means of a measure, a row a point."""
    return [measure.at(point) for point in points]


def heading(name: str, unit: str) -> str:
    """The heading of a column, with its unit if it has one."""
    return f"{name} ({unit})" if unit else name


def scaled(unit: str, column: Column) -> tuple[str, Column]:
    """The unit in which people read a column, and the column in it."""
    unit, factor = wording.readable(unit, [each.mean for each in column if each is not None])
    if factor == 1:
        return unit, column
    return unit, [None if each is None else each.scaled(factor) for each in column]


def cells(column: Column) -> list[Cell]:
    """Means with their intervals below."""
    places = wording.places_of(column)
    return [
        Cell(NONE)
        if each is None
        else Cell(wording.mean(each, places=places), wording.interval(each, places=places))
        for each in column
    ]


def ranges(column: Column) -> list[str]:
    """The smallest and the largest run of each row that has several."""
    places = wording.places_of(column)
    return [
        wording.spread(each, places) if each is not None and each.n > 1 else "" for each in column
    ]


def changes(column: Column, here: Column | None = None) -> list[Cell]:
    """Changes with their intervals below.

    Args:
        column: the changes.
        here: what changed; where it has as many runs as the change has pairs, the row says it.
    """
    places = wording.change_places(column)
    found = []
    for each, mean in zip(column, here or [None] * len(column), strict=True):
        if each is None:
            found.append(Cell(NONE))
            continue
        text, below = wording.change(each, places)
        if mean is not None and mean.n == each.n:
            below = below.rpartition(", n")[0]
        found.append(Cell(text, below))
    return found


def table(
    header: Sequence[str],
    rows: Sequence[Row],
    caption: str,
    text_columns: frozenset[int] = frozenset({0}),
    folded: bool = False,
) -> Table:
    """A table of which some cells are means: those of a column have one unit and precision.

    A column whose heading ends in "(s)" is in minutes where people would read minutes.
    """
    header, filled = list(header), [list(row) for row in rows]
    for place in range(len(header)):
        means = [(row, it) for row in filled if isinstance(it := row[place], Estimate)]
        name, apart, unit = header[place].rpartition(" (")
        column: Column = [it for _, it in means]
        if apart:
            unit, column = scaled(unit.removesuffix(")"), column)
            header[place] = heading(name, unit)
        for (row, _), cell in zip(means, cells(column), strict=True):
            row[place] = cell
    done = [
        [Cell(NONE) if it is None else it for it in row if not isinstance(it, Estimate)]
        for row in filled
    ]
    return Table(header, done, caption, text_columns, folded)
