"""`flashcrowd check`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Annotated

from cyclopts import Parameter

from flashcrowd import terminal
from flashcrowd.amounts import duration, scaled
from flashcrowd.cli.options import EngineName, Jobs, Repeats, Seed, Settings, StudyFile, load
from flashcrowd.engines import Engine, PlanRejected, registry
from flashcrowd.errors import Problem, StudyError
from flashcrowd.need import Need
from flashcrowd.scenario.paths import look_up, parse
from flashcrowd.scenario.problems import shown
from flashcrowd.study import Point, Study
from flashcrowd.study.brief import brief as what_is_said
from flashcrowd.study.need import (
    StudyNeed,
    available_memory,
    problem,
    size,
    study_need,
)
from flashcrowd.study.toml import toml_of


def check(
    study: StudyFile,
    *,
    set: Settings = [],  # noqa: B006
    seed: Seed = None,
    repeats: Repeats = None,
    jobs: Jobs = None,
    engine: EngineName = registry.DEFAULT,
    brief: Annotated[
        bool, Parameter(negative=(), help="Print only what differs from the defaults.")
    ] = False,
) -> int:
    """Check a study and print it with every default, and what it will need.

    What is printed is a study file again: what is needed stands in its comments. Nothing
    is run and nothing is written.

    Exit status: 0, or 2 if there are mistakes, if the engine cannot run it, or if it does not fit
    into this machine's memory.
    """
    loaded = load(study, set, seed, repeats)
    try:
        meant = registry.meant(engine, loaded.kinds)
        need = _ask_engine(loaded, registry.engine(meant), jobs)
    except registry.UnknownEngine as error:
        print(error, file=sys.stderr)
        return 2
    available = available_memory()
    wrong = problem(need, available)
    fits = f"{_needed(loaded, need)}\n{_room(available, wrong)}".rstrip()
    text = f"{_summary(loaded)}\n{fits}\n\n{_content(loaded, brief)}"
    if sys.stdout.isatty():
        from rich.syntax import Syntax

        terminal.console(soft_wrap=True).print(
            Syntax(text, "toml", theme="ansi_dark", word_wrap=True)
        )
    else:
        print(text, end="")
    return 0 if wrong is None else 2


def _content(study: Study, brief: bool) -> str:
    return toml_of(what_is_said(study)) if brief else study.to_toml()


def _ask_engine(study: Study, engine: Engine, jobs: int | None) -> StudyNeed:
    """What all of a study needs. The engine looks at every plan, so that what passes here runs."""
    points = study.points()
    plans = (point.plan().to_json() for point in points)
    try:
        return study_need(engine, plans, study.most_repeats, jobs)
    except PlanRejected:
        for point in points:
            _ask_alone(engine, point, study.name)
        raise


def _ask_alone(engine: Engine, point: Point, study: str) -> None:
    try:
        engine.needs([point.plan().to_json()])
    except PlanRejected as error:
        place, _, allowed = str(error).partition(": ")
        try:
            value = look_up(
                point.scenario.model_dump(mode="json", by_alias=True), parse(place) or []
            )
            wrong = Problem(place, shown(value), allowed)
        except KeyError:
            wrong = Problem(f"plan of point {point.index}", point.label, str(error))
        raise StudyError([wrong], study) from None


def _summary(study: Study) -> str:
    """How many runs a study means, and what varies, as comments."""
    points = len(study.points())
    least, most = study.least_repeats, study.most_repeats
    repeats = _counted(most, "repeat") if least == most else f"{least} to {most} repeats"
    runs = _counted(points * most, "run")
    runs = runs if least == most else f"{points * least} to {runs}"
    lines = [f"# {_counted(points, 'point')} × {repeats} = {runs}"]
    for axis in study.sweep:
        sizes = {len(values) for values in axis.values()}
        lines.append(f"#   {' with '.join(axis)}: {_counted(max(sizes), 'value')}")
    return "\n".join(lines)


MOST_ROWS = 20
"""So many points have a row each in the table of what is needed."""


SURE = "#   nine of ten packet and event counts are within a factor of 1.5; the rest is less sure"
"""How far these numbers may be off, by the table of `make needs` (`benches/needs/README.md`)."""


def _needed(study: Study, need: StudyNeed) -> str:
    """What runs of each point need, and the whole study, as comments."""
    if not need.known:
        return "# What it will need, this engine cannot tell."
    points = list(zip(study.points(), need.points, strict=True))
    rows: list[tuple[str, ...]] = [("needs, about", "packets", "events", "time", "memory")]
    for point, one in points if len(points) <= MOST_ROWS else []:
        if one is not None:
            rows.append((f"a run of point {point.index}", *_row(one)))
    if len(points) > 1:
        numbers = list(zip(*map(_numbers, need.known), strict=True))
        ends = zip(_words(list(map(min, numbers))), _words(list(map(max, numbers))), strict=True)
        rows.append(("a run", *(low if low == high else f"{low} to {high}" for low, high in ends)))
    rows.append((f"all, {need.jobs} at a time", *_row(need)))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    cells = [[f"{cell:<{wide}}" for cell, wide in zip(row, widths, strict=True)] for row in rows]
    lines = ["#   " + "  ".join(row).rstrip() for row in cells]
    return "\n".join([*lines, SURE])


def _room(available: int | None, wrong: Problem | None) -> str:
    """Whether there is memory for that, as a comment; nothing if there is."""
    if available is None:
        return "# How much memory is available here is not known: nothing is refused."
    if wrong is None:
        return ""
    return f"# Does not fit: {wrong.path}: {wrong.value}; {wrong.allowed}; {wrong.hint}."


def _numbers(need: Need | StudyNeed) -> tuple[float, ...]:
    return (need.packets, need.events, need.seconds, need.bytes)


def _words(numbers: Sequence[float]) -> tuple[str, ...]:
    packets, events, seconds, bytes = numbers
    return (scaled(packets, ""), scaled(events, ""), duration(seconds), size(bytes))


def _row(need: Need | StudyNeed) -> tuple[str, ...]:
    return _words(_numbers(need))


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
