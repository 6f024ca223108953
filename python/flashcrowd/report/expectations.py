"""The expectations of a study, judged by its tables: kept, broken or undecided.

An expectation is kept if the whole interval keeps it, broken if the whole interval breaks it, and
undecided otherwise: then more repeats would tell. A bound of an interval of 95 % is wrong on its
side in 2.5 of 100 studies, for each expectation and point.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from rich import box
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.table import Table as Terminal
from rich.text import Text

from flashcrowd.base import bounds, metrics
from flashcrowd.base.amounts import counted
from flashcrowd.base.looks import Looks
from flashcrowd.drawing.blocks import Cell, Table
from flashcrowd.report import lacking, measures, sequential, statistics, wording
from flashcrowd.report.baseline import Baseline, baseline
from flashcrowd.report.measure import Measure
from flashcrowd.report.points import Point, Points, Run, points_of
from flashcrowd.report.source import Source
from flashcrowd.report.statistics import Estimate

Outcome = Literal["kept", "broken", "undecided"]

STATUS: dict[Outcome, int] = {"kept": 0, "broken": 4, "undecided": 5}
"""Exit status of a command that judges."""

_MARKS = {"kept": "good", "broken": "bad", "undecided": "open"}
_STYLES = {"kept": "green", "broken": "bold red", "undecided": "yellow"}


@dataclass(frozen=True)
class Judged:
    """One expectation at one point, or over points.

    Attributes:
        name: what the study calls it.
        says: the expectation in words.
        where: the point, or over which.
        found: the number with its interval; ``None`` without a complete run.
        unit: unit of the number; `bounds.CHANGE` for a relative change.
        outcome: what came out.
        why: why it is undecided; empty if the interval says so.
    """

    name: str
    says: str
    where: str
    found: Estimate | None
    unit: str
    outcome: Outcome
    why: str = ""

    @property
    def number(self) -> tuple[str, str]:
        """The number and its interval as text."""
        if self.found is None:
            return "–", ""
        if self.unit == bounds.CHANGE:
            return wording.change(self.found)
        interval = f"{wording.interval(self.found)}, {wording.runs(self.found.n)}"
        return wording.mean(self.found, self.unit), interval


def judge(results: Source, points: Points | None = None) -> list[Judged]:
    """Every expectation of a study, point by point."""
    expect = results.study.get("expect") or {}
    if not expect:
        return []
    points = points or points_of(results)
    looks = Looks.of_study(results.study)
    usual = (results.study.get("report") or {}).get("baseline", {})
    return [
        judged
        for name, wanted in expect.items()
        for judged in _judge(results, points, name, wanted, usual, looks)
    ]


def overall(judged: Sequence[Judged]) -> Outcome:
    """Broken if one is broken, else undecided if one is undecided, else kept."""
    outcomes = {each.outcome for each in judged}
    if "broken" in outcomes:
        return "broken"
    return "undecided" if "undecided" in outcomes else "kept"


def _judge(
    results: Source,
    points: Points,
    name: str,
    wanted: Mapping[str, Any],
    usual: Mapping[str, Any],
    looks: Looks | None,
) -> Iterator[Judged]:
    metric = metrics.parse(str(wanted["measure"]))
    chosen = list(_chosen(points, wanted.get("at") or {}))
    base = baseline(points, wanted.get("baseline") or usual)
    for keys, relative in ((bounds.LEVELS, False), (bounds.CHANGES, True)):
        given = {key: str(wanted[key]) for key in keys if wanted.get(key) not in (None, "none")}
        if not given:
            continue
        limits = {key: bounds.amount(text, bounds.unit_of(key, metric.metric))
                  for key, text in given.items()}  # fmt: skip
        found = measures.named(results, metric)
        if not found:
            says = _says(str(metric), given, base if relative else None)
            yield Judged(name, says, "", None, "", "undecided", "was not measured in any run")
        for measure in found:
            says = _says(measure.name, given, base if relative else None)
            judged = [(p, base.of(p) if base and relative else None) for p in chosen]
            if relative:
                judged = [pair for pair in judged if pair[1] is not None]
            if not judged:
                yield Judged(name, says, "", None, "", "undecided", "no point to compare is chosen")
                continue
            for pairs in [judged] if wanted.get("together") else [[pair] for pair in judged]:
                yield _one(name, says, measure, pairs, limits, relative, looks)


def _chosen(points: Points, at: Mapping[str, object]) -> Iterator[Point]:
    """The points that have these sweep values."""
    wanted = [points.chosen(path, value) for path, value in at.items()]
    for point in points.points:
        if all(point.levels[number] in levels for number, levels in wanted):
            yield point


def _one(
    name: str,
    says: str,
    measure: Measure,
    pairs: Sequence[tuple[Point, Point | None]],
    limits: Mapping[str, float],
    relative: bool,
    looks: Looks | None,
) -> Judged:
    """One judgement, over one point or over several together."""
    if len(pairs) == 1:
        ((point, base),) = pairs
        found = measure.at(point) if base is None else measure.change(point, base)
        where = point.label
    else:
        found = _together(measure, pairs, looks)
        where = f"over {wording.count(len(pairs), 'point')}"
    unit = bounds.CHANGE if relative else measure.unit
    outcome, why = _outcome(found, limits)
    involved = {p.index: p for pair in pairs for p in pair if p is not None}.values()
    bad = sum(len(point.runs) - len(_counted(measure, point)) for point in involved)
    total = sum(len(point.runs) for point in involved)
    if bad and (outcome == "kept" or found is None):
        outcome, why = "undecided", f"{bad} of {counted(total, 'run')} did not end as planned"
    elif flattered := _flattered(measure, pairs, limits, outcome):
        share = lacking.share(measure, flattered)
        outcome, why = "undecided", f"{share} never ended at {flattered.label or 'it'}"
    return Judged(name, says, where, found, unit, outcome, why)


def _flattered(
    measure: Measure,
    pairs: Sequence[tuple[Point, Point | None]],
    limits: Mapping[str, float],
    outcome: Outcome,
) -> Point | None:
    """A point that an outcome is not proven of, as its mean is of those that fared better."""
    sides = {key.removeprefix("change_") for key in limits}
    # A bound from above that is kept, or one from below that is broken, means a low mean.
    low = (outcome == "kept" and "below" in sides) or (outcome == "broken" and "above" in sides)
    high = (outcome == "kept" and "above" in sides) or (outcome == "broken" and "below" in sides)
    for point, base in pairs:
        if low and measure.lacks(point, base):
            return point
        if high and base is not None and measure.lacks(base, point):
            return base
    return None


def _counted(measure: Measure, point: Point) -> set[Run]:
    """The runs that have all that is measured, or count all the same."""
    return {*point.good_runs, *measure.runs_of(point)}.difference(measure.lacking(point))


def _together(
    measure: Measure, pairs: Sequence[tuple[Point, Point | None]], looks: Looks | None
) -> Estimate | None:
    """The mean over points, by seed, and its change; seeds that every point has."""
    values = _over([point for point, _ in pairs], measure)
    bases = [base for _, base in pairs if base is not None]
    if not values:
        return None
    if not bases:
        each = list(values.values())
        return sequential.estimate(each, looks) if looks else statistics.estimate(each)
    base = _over(bases, measure)
    if looks:
        return sequential.difference(values, base, looks, relative=True)
    return statistics.difference(values, base, relative=True)


def _over(points: Sequence[Point], measure: Measure) -> dict[int, float]:
    of_points = [measure.by_seed(point) for point in points]
    shared = [seed for seed in of_points[0] if all(seed in of for of in of_points)]
    return {seed: float(np.mean([of[seed] for of in of_points])) for seed in shared}


def _outcome(found: Estimate | None, limits: Mapping[str, float]) -> tuple[Outcome, str]:
    """The verdict of an interval on bounds."""
    if found is None:
        return "undecided", "no complete run"
    if found.low is None or found.high is None:
        return "undecided", "one run has no interval"
    if not (math.isfinite(found.low) and math.isfinite(found.high)):
        return "undecided", "the baseline is too near to zero"
    most = min((v for key, v in limits.items() if key.endswith("below")), default=math.inf)
    least = max((v for key, v in limits.items() if key.endswith("above")), default=-math.inf)
    if least < found.low and found.high < most:
        return "kept", ""
    if found.low >= most or found.high <= least:
        return "broken", ""
    return "undecided", "the bound is inside the interval"


def _says(measure: str, given: Mapping[str, str], base: Baseline | None) -> str:
    words = [
        f"{key.removeprefix('change_')} {text.replace('-', wording.MINUS)}"
        for key, text in given.items()
    ]
    text = " and ".join(words)
    if base is not None:
        return f"change of {measure} {text} against {base.words}"
    return f"{measure} {text}"


def sentences(judged: Sequence[Judged]) -> Iterator[str]:
    """The outcome of each expectation, and where."""
    for says in dict.fromkeys(each.says for each in judged):
        mine = [each for each in judged if each.says == says]
        outcomes = dict.fromkeys(each.outcome for each in mine)
        if len(outcomes) == 1:
            (outcome,) = outcomes
            places = f" at all {len(mine)} points" if len(mine) > 1 else ""
            yield f"Expected: {says}: {outcome}{places}."
            continue
        parts = []
        for outcome in outcomes:
            where = [each.where for each in mine if each.outcome == outcome]
            named = " and ".join(where) if len(where) <= _NAMED else f"{len(where)} points"
            parts.append(f"{outcome} at {named}")
        yield f"Expected: {says}: {'; '.join(parts)}."


#: Of more points than this a sentence says only how many they are.
_NAMED = 2


def sentence(judged: Sequence[Judged]) -> str:
    """How many are kept, broken and undecided."""
    outcomes = [each.outcome for each in judged]
    parts = [f"{outcomes.count(o)} {o}" for o in ("kept", "broken", "undecided") if o in outcomes]
    return f"Expectations: {', '.join(parts)}."


def table(judged: Sequence[Judged]) -> Table:
    """The judgements for a page."""
    rows: list[list[str | Cell]] = [
        [each.name, each.says, each.where, Cell(*each.number),
         Cell(each.outcome, each.why, _MARKS[each.outcome])]
        for each in judged
    ]  # fmt: skip
    caption = (
        f"{sentence(judged)} Kept: the whole 95 % interval keeps it; broken: the whole interval "
        "breaks it; undecided: the bound is inside, or runs did not end as planned."
    )
    header = ["expectation", "what is expected", "point", "found", "outcome"]
    return Table(header, rows, caption, frozenset({0, 1, 2, 4}), folded=len(rows) > 25)


def summary(judged: Sequence[Judged]) -> RenderableType:
    """The judgements for a terminal."""
    return Group(Text(sentence(judged), style=_STYLES[overall(judged)]), _Judgements(judged))


#: Narrower terminals are shown what is expected, where and of what in one column.
_WIDE = 100


@dataclass(frozen=True)
class _Judgements:
    """A row for each, in as many columns as the terminal has room for."""

    judged: Sequence[Judged]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yields one table."""
        yield self._wide() if options.max_width >= _WIDE else self._narrow()

    def _wide(self) -> Terminal:
        shown = Terminal(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
        for heading in ("expectation", "what is expected", "point"):
            shown.add_column(heading)
        for heading in ("found", "95 % interval"):
            shown.add_column(heading, justify="right", no_wrap=True)
        shown.add_column("outcome")
        for each in self.judged:
            shown.add_row(each.name, each.says, each.where, *each.number, _outcome_of(each))
        return shown

    def _narrow(self) -> Terminal:
        shown = Terminal(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
        shown.add_column("what is expected")
        shown.add_column("found", justify="right")
        shown.add_column("outcome")
        for each in self.judged:
            what = f"{each.name}: {each.says}" + (f", {each.where}" if each.where else "")
            shown.add_row(what, "\n".join(filter(None, each.number)), _outcome_of(each))
        return shown


def _outcome_of(each: Judged) -> Text:
    outcome = f"{each.outcome}: {each.why}" if each.why else each.outcome
    return Text(outcome, style=_STYLES[each.outcome])
