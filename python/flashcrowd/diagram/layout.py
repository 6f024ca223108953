"""Where each box of a diagram stands, and the lines of text inside of it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from flashcrowd.diagram.curve import Curve
from flashcrowd.diagram.network import Box, Diagram

#: Size of text, and height of a line, in units of the drawing.
TEXT, TITLE, LINE = 11.0, 12.0, 15.5

#: Size of the text above a curve, and height of the curve.
SMALL, CURVE = 10.0, 30.0

PAD = 9.0
"""Between the edge of a box and its text."""

_GAP = 16.0
_MARK = 12.0


@dataclass(frozen=True)
class Label:
    """A line of text.

    Attributes:
        x: where it begins.
        y: its baseline.
        text: what it says.
        size: size of the letters.
        bold: whether it is a heading.
        workload: index of the workload whose mark is before it; less than zero for none.
    """

    x: float
    y: float
    text: str
    size: float = TEXT
    bold: bool = False
    workload: int = -1

    @property
    def width(self) -> float:
        """How wide the text is at most."""
        return width(self.text, self.size, bold=self.bold)


@dataclass(frozen=True)
class PlacedCurve:
    """A curve with its place: from its lower left corner, to the right and up."""

    curve: Curve
    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True)
class Placed:
    """A box with its place and its labels."""

    box: Box
    x: float
    y: float
    width: float
    height: float
    labels: tuple[Label, ...]
    curves: tuple[PlacedCurve, ...] = ()


@dataclass(frozen=True)
class Layout:
    """A whole drawing.

    Attributes:
        width: of the drawing.
        height: of the drawing.
        groups: the boxes of the groups, in order of the diagram.
        between: the boxes of what lies between them.
        lanes: for a narrow drawing, the abscissa of each of `between` along which lines run.
        notes: lines of text below the boxes.
        axis: ordinate of the axis of time, if something changes.
    """

    width: float
    height: float
    groups: tuple[Placed, ...]
    between: tuple[Placed, ...]
    lanes: tuple[float, ...]
    notes: tuple[Label, ...]
    axis: float | None


#: A number stays beside its unit.
_UNIT = re.compile(r"(?<=\d) (?=(?:[kMG]?bit/s|[kKMG]i?B|B|ms|s|min|h|%|hosts?|packets)\b|%)")

_NARROW = frozenset("iljtfrI.,:;'|!()[]/ \u00a0·-")
_WIDE = frozenset("mwMW%@↑↓→←⇄—")


def width(text: str, size: float, *, bold: bool = False) -> float:
    """How wide a line is at most, in DejaVu Sans or Verdana; other faces are narrower."""
    units = sum(0.42 if c in _NARROW else 1.0 if c in _WIDE else 0.78 if c.isupper() else 0.64
                for c in text)  # fmt: skip
    return units * size * (1.12 if bold else 1.0)


def wrapped(text: str, room: float, size: float = TEXT, *, bold: bool = False) -> Iterator[str]:
    """The text in lines that fit into `room`; a word that does not is broken."""
    line = ""
    for word in _UNIT.sub("\u00a0", text).split(" "):
        joined = f"{line} {word}".strip()
        if width(joined, size, bold=bold) <= room:
            line = joined
            continue
        if line:
            yield line
        line = word
        while width(line, size, bold=bold) > room:
            fits = next(
                n for n in range(len(line) - 1, 0, -1)
                if n == 1 or width(line[:n], size, bold=bold) <= room
            )  # fmt: skip
            yield line[:fits]
            line = line[fits:]
    if line:
        yield line


def wide(diagram: Diagram) -> Layout:
    """Groups left and right, what lies between them in the middle: for screens and paper."""
    total, side, middle = 776.0, 258.0, 190.0
    order = diagram.workloads
    left, right = _sides(diagram, side)
    places: dict[int, Placed] = {}
    ends = []
    for x, column in ((0.5, left), (total - side - 0.5, right)):
        y = 0.5
        for place in column:
            places[place] = _box(diagram.groups[place], x, y, side, order)
            y += places[place].height + _GAP
        ends.append(y - _GAP)
    bottom = max(ends)
    boxes = [_box(box, (total - middle) / 2, 0, middle, order) for box in diagram.between]
    needed = sum(box.height for box in boxes) + 2 * _GAP * (len(boxes) - 1)
    bottom = max(bottom, needed)
    if not right:
        total = (total + middle) / 2 + 0.5
    y = (bottom - needed) / 2 + 0.5
    for number, box in enumerate(diagram.between):
        boxes[number] = _box(box, boxes[number].x, y, middle, order)
        y += boxes[number].height + 2 * _GAP
    groups = tuple(
        _centred(places, column, end, bottom) for column, end in ((left, ends[0]), (right, ends[1]))
    )
    merged = {place: placed for column in groups for place, placed in column.items()}
    moved = tuple(
        _box(p.box, p.x, p.y, p.width, order) for p in (merged[i] for i in range(len(merged)))
    )
    return _finished(diagram, total, bottom, moved, tuple(boxes), ())


def narrow(diagram: Diagram) -> Layout:
    """All boxes below each other, joined by lanes at the left: for phones."""
    total = 352.0
    step = min(13.0, 78.0 / max(1, len(diagram.between)))
    lanes = tuple(8.0 + step * number for number in range(len(diagram.between)))
    x = lanes[-1] + 12.0
    room = total - x - 0.5
    order = diagram.workloads
    y = 0.5
    found: list[Placed] = []
    for box in [*diagram.between, *diagram.groups]:
        found.append(_box(box, x, y, room, order))
        y += found[-1].height + _GAP * 0.75
    count = len(diagram.between)
    return _finished(
        diagram, total, y - _GAP * 0.75, tuple(found[count:]), tuple(found[:count]), lanes
    )


def _sides(diagram: Diagram, room: float) -> tuple[list[int], list[int]]:
    """Which groups stand left and which right: senders left, columns about equally high."""
    heights = [_box(box, 0, 0, room, diagram.workloads).height for box in diagram.groups]
    order = sorted(range(len(heights)), key=lambda place: (diagram.groups[place].side, place))
    best = min(
        range(1, len(order) + 1),
        key=lambda cut: (
            max(sum(heights[i] for i in order[:cut]), sum(heights[i] for i in order[cut:])),
            cut,
        ),
    )
    signs = [diagram.groups[place].side for place in order]
    natural = sum(sign < 0 for sign in signs)
    if 0 < natural < len(order) and all(signs) and len(order) <= 4:
        best = natural
    return sorted(order[:best]), sorted(order[best:])


def _centred(
    places: dict[int, Placed], column: Sequence[int], end: float, bottom: float
) -> dict[int, Placed]:
    """A column that is less high than the drawing, in its middle."""
    down = (bottom - end) / 2
    return {
        i: Placed(p.box, p.x, p.y + down, p.width, p.height, ())
        for i, p in ((i, places[i]) for i in column)
    }


def _box(box: Box, x: float, y: float, across: float, workloads: Sequence[str]) -> Placed:
    labels = []
    room = across - 2 * PAD
    at = y + PAD + TITLE - 2
    for text in wrapped(box.title, room, TITLE, bold=True):
        labels.append(Label(x + PAD, at, text, TITLE, bold=True))
        at += LINE
    for line in box.lines:
        for text in wrapped(line, room):
            labels.append(Label(x + PAD, at, text))
            at += LINE
    curves = []
    for curve in box.curves:
        for text in wrapped(curve.label, room, SMALL):
            labels.append(Label(x + PAD, at, text, SMALL))
            at += LINE - 2
        foot = at - LINE + 6 + CURVE
        curves.append(PlacedCurve(curve, x + PAD, foot, room, CURVE))
        at = foot + LINE + 2
    if box.tasks:
        at += 5
    for task in box.tasks:
        mark = workloads.index(task.workload)
        for text in wrapped(task.text, room - _MARK):
            labels.append(Label(x + PAD + _MARK, at, text, workload=mark))
            mark = -1
            at += LINE
    return Placed(box, x, y, across, at - LINE + PAD - y, tuple(labels), tuple(curves))


def _finished(
    diagram: Diagram,
    total: float,
    bottom: float,
    groups: tuple[Placed, ...],
    between: tuple[Placed, ...],
    lanes: tuple[float, ...],
) -> Layout:
    """With the axis of time and what varies below the boxes."""
    notes: list[Label] = []
    y = bottom + 26
    axis = None
    if diagram.changes:
        notes.append(Label(0.5, y, "Over time", TITLE, bold=True))
        axis = y + 22
        y = axis + 30
        for number, (_, text) in enumerate(diagram.changes, 1):
            y = _note(notes, f"{number}. {text}", y, total)
        y += 8
    if diagram.swept:
        notes.append(Label(0.5, y, "The study varies", TITLE, bold=True))
        y += LINE
        for text in diagram.swept:
            y = _note(notes, text, y, total)
    height = (y - LINE + 8) if notes else bottom + 1
    return Layout(total, height, groups, between, lanes, tuple(notes), axis)


def _note(notes: list[Label], text: str, y: float, total: float) -> float:
    for line in wrapped(text, total - 4):
        notes.append(Label(0.5, y, line))
        y += LINE
    return y
