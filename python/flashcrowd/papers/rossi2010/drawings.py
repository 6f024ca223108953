"""Curves over time as the paper draws them: one run, a line a flavour, a grey profile."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from matplotlib.axes import Axes

from flashcrowd.drawing.blocks import Figure
from flashcrowd.drawing.canvas import Canvas, canvas, key
from flashcrowd.drawing.style import QUIET, SeriesStyle, looks
from flashcrowd.papers import curves
from flashcrowd.papers.evidence import StudyEvidence, Where

Step = tuple[float, float]


@dataclass(frozen=True)
class Line:
    """A curve to draw.

    Attributes:
        label: what the legend calls it.
        t_s: abscissae.
        value: ordinates.
    """

    label: str
    t_s: np.ndarray
    value: np.ndarray


@dataclass(frozen=True)
class Panel:
    """One panel.

    Attributes:
        title: its heading.
        lines: its curves.
        profile: a step line to draw in grey, as corners (time, value).
        low: lower edge of a band of the profile, where it has one.
        shades: stretches of time to shade, each with a word.
    """

    title: str
    lines: Sequence[Line]
    profile: Sequence[Step] = ()
    low: Sequence[Step] = ()
    shades: Sequence[tuple[float, float, str]] = field(default_factory=tuple)


@dataclass(frozen=True)
class Frame:
    """What stands around the panels.

    Attributes:
        slug: name of the figure's file.
        y: label of the ordinate, with unit.
        caption: what it shows.
        profile: what the grey line is.
        right: label of a second ordinate for the profile, or empty if it shares the first.
        columns: panels side by side.
        height: of a row, in inches.
        top: upper end of the ordinate, or ``None`` for that of the data.
    """

    slug: str
    y: str
    caption: str
    profile: str = ""
    right: str = ""
    columns: int = 2
    height: float = 2.6
    top: float | None = None


def first_run(
    study: StudyEvidence, what: str, source: str, where: Where, *, factor: float, mean_s: int = 1
) -> tuple[np.ndarray, np.ndarray] | None:
    """A curve of the first good run at the one point of `where`, `mean_s` samples a step."""
    point = study.one(where)
    if point is None:
        return None
    for run in point.good_runs:
        curve = curves.read(study, what).get(run.run, {}).get(source)
        if curve is not None:
            return _thinned(curve.t_s, factor * curve.value, mean_s)
    return None


def _thinned(t_s: np.ndarray, value: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray]:
    if size <= 1:
        return t_s, value
    whole = len(value) // size * size
    parts = value[1 : whole + 1] if len(value) > whole else value[:whole]
    ends = t_s[1 : whole + 1] if len(value) > whole else t_s[:whole]
    return ends.reshape(-1, size)[:, -1], parts.reshape(-1, size).mean(axis=1)


def over_time(panels: Sequence[Panel], frame: Frame) -> Figure | None:
    """The figure, or ``None`` without any line."""
    panels = [panel for panel in panels if panel.lines]
    if not panels:
        return None
    styles = _styles(panels)
    room = 1.3 if any(panel.shades for panel in panels) else 1.08
    top = frame.top or room * max(float(np.nanmax(line.value)) for p in panels for line in p.lines)
    columns = min(frame.columns, len(panels))
    rows = -(-len(panels) // columns)
    with canvas(columns, rows, height=frame.height) as drawing:
        for number, axes in enumerate(drawing.panels):
            if number >= len(panels):
                axes.set_visible(False)
                continue
            _draw(
                drawing, axes, panels[number], styles, frame, last=number % columns == columns - 1
            )
            if number % columns == 0:
                axes.set_ylabel(frame.y)
            if number + columns >= len(panels):
                axes.set_xlabel("time (s)")
                axes.tick_params(labelbottom=True)
            axes.set_ylim(bottom=0, top=top)
            axes.set_xlim(left=0)
        key(drawing)
        svg = drawing.svg()
    return Figure(frame.slug, svg, frame.caption, frame.caption.split(". ")[0])


def _styles(panels: Sequence[Panel]) -> Mapping[str, SeriesStyle]:
    labels = list(dict.fromkeys(line.label for panel in panels for line in panel.lines))
    return dict(zip(labels, looks(len(labels)), strict=True))


def _draw(
    drawing: Canvas,
    axes: Axes,
    panel: Panel,
    styles: Mapping[str, SeriesStyle],
    frame: Frame,
    *,
    last: bool,
) -> None:
    for from_s, to_s, word in panel.shades:
        axes.axvspan(from_s, to_s, color="#ececec", linewidth=0, zorder=0)
        axes.annotate(
            word.replace(" ", "\n"), ((from_s + to_s) / 2, 0.985),
            xycoords=("data", "axes fraction"), ha="center", va="top", fontsize=8, color=QUIET,
        )  # fmt: skip
    alone = len(panel.lines) == 1
    for number, line in enumerate(panel.lines):
        look = styles[line.label]
        every = max(1, len(line.t_s) // 7)
        (drawn,) = axes.plot(
            line.t_s, line.value, color=look.color, linewidth=1.1, label=line.label,
            marker=None if alone else look.marker, markersize=3.5,
            markevery=(number * every // 4 + 1, every),
        )  # fmt: skip
        drawing.tip(drawn, line.label)
    if panel.profile:
        _profile(axes, panel, frame, last=last)
    axes.set_title(panel.title)


def _profile(axes: Axes, panel: Panel, frame: Frame, *, last: bool) -> None:
    where = axes
    if frame.right:
        where = axes.twinx()
        axes.set_zorder(where.get_zorder() + 1)
        axes.patch.set_visible(False)
        where.spines["right"].set_visible(True)
        where.grid(visible=False)
        where.tick_params(labelright=last, colors=QUIET)
        if last:
            where.set_ylabel(frame.right, color=QUIET)
    times, values = zip(*panel.profile, strict=True)
    if panel.low:
        _, low = zip(*panel.low, strict=True)
        where.fill_between(
            times, low, values, step="post", color="#bdbdbd", alpha=0.45, linewidth=0
        )
    axes.plot([], [], color=QUIET, linewidth=1.4, linestyle=(0, (4, 1.5)), label=frame.profile)
    where.step(
        times, values, where="post", color=QUIET, linewidth=1.4, linestyle=(0, (4, 1.5)), zorder=1
    )
    if frame.right:
        where.set_ylim(bottom=0, top=1.6 * max(values))


def corners(steps: Sequence[tuple[float, float, float]]) -> list[Step]:
    """Corners of a step line from stretches (from, to, value)."""
    if not steps:
        return []
    return [*((a, value) for a, _, value in steps), (steps[-1][1], steps[-1][2])]


def dots(
    panels: Sequence[tuple[str, np.ndarray, np.ndarray]], slug: str, y: str, caption: str
) -> Figure:
    """A panel of dots for each (title, abscissae, ordinates)."""
    look = looks(1)[0]
    with canvas(2, -(-len(panels) // 2), height=2.2) as drawing:
        for number, axes in enumerate(drawing.panels):
            if number >= len(panels):
                axes.set_visible(False)
                continue
            title, x, values = panels[number]
            axes.plot(x, values, ".", color=look.color, markersize=2.2, markeredgewidth=0)
            axes.set_title(title)
            axes.set_ylim(0, 1600)
            if number % 2 == 0:
                axes.set_ylabel(y)
            if number >= len(panels) - 2:
                axes.set_xlabel("time (s)")
                axes.tick_params(labelbottom=True)
        svg = drawing.svg()
    return Figure(slug, svg, caption, caption.split(". ")[0])
