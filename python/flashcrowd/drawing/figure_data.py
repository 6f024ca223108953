"""The numbers of a figure, as CSV beside its drawing."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import StepPatch

#: Columns of the file; those that no row has are left out.
_COLUMNS = ("panel", "x_axis", "y_axis", "series", "x", "y", "low", "high", "n")

#: The gap from one logarithmic tick to the next is a decade: fewer need no such axis.
_DECADES = 20.0


@dataclass(frozen=True)
class Series:
    """One line of a panel.

    Attributes:
        panel: where it is drawn.
        name: what the legend calls it.
        x: abscissae, numbers or the names of categories.
        y: ordinates.
        low: lower ends of intervals or bands, where there are any.
        high: upper ends.
        n: runs behind each number, where they are counted.
    """

    panel: Axes
    name: str
    x: Sequence[float | str]
    y: Sequence[float]
    low: Sequence[float | None] = ()
    high: Sequence[float | None] = ()
    n: Sequence[int] = ()

    def rows(self) -> Iterator[tuple[object, ...]]:
        """A row for each number."""
        head = (
            _line(self.panel.get_title(loc="left") or self.panel.get_title()),
            _line(self.panel.get_xlabel()),
            _line(self.panel.get_ylabel()),
            self.name,
        )
        for place, (x, y) in enumerate(zip(self.x, self.y, strict=True)):
            more = (each[place] if len(each) else None for each in (self.low, self.high, self.n))
            yield (*head, x, y, *more)


def text(series: Sequence[Series], panels: Sequence[Axes]) -> str:
    """The file: what was noted while drawing, or else the lines of the panels."""
    rows = [row for each in series or list(_drawn(panels)) for row in each.rows()]
    if not rows:
        return ""
    kept = [i for i in range(len(_COLUMNS)) if any(row[i] not in (None, "") for row in rows)]
    sink = io.StringIO()
    writer = csv.writer(sink, lineterminator="\n")
    writer.writerow([_COLUMNS[i] for i in kept])
    writer.writerows([[_cell(row[i]) for i in kept] for row in rows])
    return sink.getvalue()


def spans_decades(series: Sequence[Series]) -> bool:
    """Whether a logarithmic ordinate would show what a linear one hides."""
    values = [float(y) for each in series for y in each.y]
    return len(values) > 1 and min(values) > 0 and max(values) >= _DECADES * min(values)


def _drawn(panels: Sequence[Axes]) -> Iterator[Series]:
    """The lines of panels that noted none: those with a name, or all if none has one."""
    for panel in panels:
        if not panel.get_visible():
            continue
        lines = [line for line in panel.get_lines() if line.get_transform() == panel.transData]
        named = [line for line in lines if not str(line.get_label()).startswith("_")]
        for line in named or lines:
            name = str(line.get_label())
            x, y = np.asarray(line.get_xdata(), float), np.asarray(line.get_ydata(), float)
            if len(x):
                yield Series(panel, "" if name.startswith("_") else name, x.tolist(), y.tolist())
        for patch in panel.patches:
            if isinstance(patch, StepPatch):
                values, edges, _ = patch.get_data()
                known = np.asarray(values, float).tolist()
                yield Series(panel, str(patch.get_label()), list(edges[:-1]), known)
        for container in panel.containers:
            bars = [bar for bar in container if hasattr(bar, "get_height")]
            if bars:
                x = [bar.get_x() + bar.get_width() / 2 for bar in bars]
                y = [float(bar.get_height()) for bar in bars]
                yield Series(panel, str(container.get_label()), x, y)


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, str | int):
        return str(value)
    number = float(value)  # pyright: ignore[reportArgumentType]
    return "" if np.isnan(number) else f"{number:.9g}"


def _line(label: str) -> str:
    return " ".join(label.split())
