"""Which point becomes a line, and which a panel: laying a sweep out on paper."""

from __future__ import annotations

from dataclasses import dataclass

from flashcrowd.report.points import Axis, Point, Points

#: Panels that one figure of means may have.
_MOST_APART = 4

#: More panels than this in one figure cannot be read.
MOST_PANELS = 8


@dataclass(frozen=True)
class Line:
    """Points that differ in one axis only, in its order."""

    label: str
    points: tuple[Point, ...]


@dataclass(frozen=True)
class Panel:
    """Lines that belong together."""

    title: str
    lines: tuple[Line, ...]


@dataclass(frozen=True)
class Layout:
    """How a study is laid out.

    Attributes:
        along: the axis that a figure of means has as its abscissa; ``None`` without a sweep.
        panels: one line for each combination of the other axes.
    """

    along: int | None
    panels: tuple[Panel, ...]


def main_axis(points: Points) -> int | None:
    """The axis with the most numeric levels, or the longest one if none is numeric."""
    swept = [i for i, axis in enumerate(points.axes) if len(axis.levels) > 1]
    if not swept:
        return None
    return max(
        swept, key=lambda i: (points.axes[i].scale is not None, len(points.axes[i].levels), -i)
    )


def layout(points: Points, *, along: str = "", lines: str = "", most_lines: int = 6) -> Layout:
    """Lines along one axis, one for each combination of the others.

    Args:
        points: what to lay out.
        along: name of the axis; without, the main one.
        lines: name of an axis whose levels are lines; the others make panels, if these are few.
        most_lines: with more combinations, the axis with the fewest levels makes panels.
    """
    place = _chosen(points, along)
    others = [
        i for i, axis in enumerate(points.axes) if i != place and len(axis.levels) > 1
    ]  # fmt: skip
    combinations = _split(points.points, others)
    by_panel: list[int] = []
    if len(combinations) > most_lines and len(others) > 1:
        by_panel = [min(others, key=lambda i: len(points.axes[i].levels))]
    apart = [i for i in others if points.axes[i].name != lines]
    if lines and len(_split(points.points, apart)) <= _MOST_APART:
        by_panel = apart
    inner = [i for i in others if i not in by_panel]
    panels = []
    for levels, members in _split(points.points, by_panel).items():
        drawn = [
            Line(_name(points.axes, inner, key), tuple(sorted(found, key=_order(place))))
            for key, found in _split(members, inner).items()
        ]
        panels.append(Panel(_name(points.axes, by_panel, levels), tuple(drawn)))
    return Layout(place, tuple(panels))


def curves(points: Points, *, along: str = "") -> Layout:
    """One line a point, along one axis inside a panel, a panel for each other combination."""
    place = _chosen(points, along)
    others = [i for i, axis in enumerate(points.axes) if i != place and len(axis.levels) > 1]
    panels = []
    for key, members in _split(points.points, others).items():
        lines = []
        for point in sorted(members, key=_order(place)):
            name = "" if place is None else points.axes[place].label(point.levels[place])
            lines.append(Line(name, (point,)))
        panels.append(Panel(_name(points.axes, others, key), tuple(lines)))
    return Layout(place, tuple(panels))


def _chosen(points: Points, name: str) -> int | None:
    named = [i for i, axis in enumerate(points.axes) if axis.name == name]
    return named[0] if named else main_axis(points)


def _order(along: int | None):
    return lambda point: point.index if along is None else point.levels[along]


def _split(
    points: tuple[Point, ...] | list[Point], axes: list[int]
) -> dict[tuple[int, ...], list[Point]]:
    found: dict[tuple[int, ...], list[Point]] = {}
    for point in points:
        found.setdefault(tuple(point.levels[i] for i in axes), []).append(point)
    return found


def _name(axes: tuple[Axis, ...], which: list[int], levels: tuple[int, ...]) -> str:
    return ", ".join(axes[i].said(level) for i, level in zip(which, levels, strict=True))
