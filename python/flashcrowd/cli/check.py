"""`flashcrowd check`."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated

from cyclopts import Parameter

from flashcrowd.base import terminal
from flashcrowd.base.amounts import duration, scaled
from flashcrowd.base.errors import Problem, StudyError
from flashcrowd.base.need import Need
from flashcrowd.base.paths import look_up, parse
from flashcrowd.cli import bound_text
from flashcrowd.cli.bound_text import columns, numbered
from flashcrowd.cli.options import EngineName, Jobs, Repeats, Seed, Settings, StudyFile, load
from flashcrowd.engines import Engine, PlanRejected, Timed, registry
from flashcrowd.scenario import Population, Swarm
from flashcrowd.scenario.check import SHRINK, TOO_MANY
from flashcrowd.scenario.problems import shown
from flashcrowd.study import Point, Study
from flashcrowd.study.brief import brief
from flashcrowd.study.calibration import calibrated
from flashcrowd.study.need import (
    StudyNeed,
    available_memory,
    long,
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
    all: Annotated[
        bool, Parameter(negative=(), help="Print every default and every point, too.")
    ] = False,
    calibrate: Annotated[
        bool,
        Parameter(negative="--no-calibrate", help="Time some runs, so that seconds are of here."),
    ] = True,
) -> int:
    """Check a study and print it, what its lines alone say, and what its runs will need.

    The output is a study file without the defaults; the rest is in its comments. Nothing is
    written. Some runs are timed for 0.3 s, so that the seconds are those of this machine. If a
    crowd is too big to run, the output still has what its lines alone say.

    Exit status: 0, or 2 if there are mistakes, if the engine cannot run it, or if it does not fit
    into this machine's memory.
    """
    try:
        loaded = load(study, set, seed, repeats)
    except StudyError as error:
        _show(_too_big(error))
        raise
    try:
        meant = registry.engine(registry.meant(engine, loaded.kinds))
        need = _ask_engine(loaded, meant, jobs)
    except registry.UnknownEngine as error:
        print(error, file=sys.stderr)
        return 2
    available = available_memory()
    wrong = problem(need, available)
    points, here = loaded.points(), None
    if calibrate and isinstance(meant, Timed):
        here = calibrated(meant, points, need, loaded.seed)
    parts = [
        *_summary(loaded, all),
        *bound_text.lines(loaded, points),
        *_needed(points, here or need, all, WHERE if here else ELSEWHERE),
        *_room(available, wrong),
        *_long(here or need),
    ]
    content = loaded.to_toml() if all else toml_of(brief(loaded))
    _show(f"{_comment(parts)}\n{content}")
    return 0 if wrong is None else 2


def _too_big(error: StudyError) -> str:
    """Bounds from the lines, for a study whose only mistake is that it has too many hosts."""
    study = error.study
    if not isinstance(study, Study) or any(it.allowed != TOO_MANY for it in error.problems):
        return ""
    return _comment(bound_text.lines(study, study.points()))


def _comment(lines: Iterable[str]) -> str:
    return "".join(f"# {line}\n" for line in lines)


def _show(text: str) -> None:
    if not sys.stdout.isatty():
        print(text, end="")
    elif text:
        from rich.syntax import Syntax

        terminal.console(soft_wrap=True).print(
            Syntax(text, "toml", theme="ansi_dark", word_wrap=True)
        )


def _ask_engine(study: Study, engine: Engine, jobs: int | None) -> StudyNeed:
    """The need of all of a study. The engine looks at every plan, so that what passes here runs."""
    points = study.points()
    plans = (point.plan().parsed for point in points)
    try:
        return study_need(engine, plans, study.most_repeats, jobs)
    except PlanRejected:
        for point in points:
            _ask_alone(engine, point, study.name)
        raise


def _ask_alone(engine: Engine, point: Point, study: str) -> None:
    try:
        engine.needs([point.plan().parsed])
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


MANY = 3
"""If more paths than this vary side by side, only the first is named."""


def _summary(study: Study, all: bool) -> Iterator[str]:
    """How many runs a study means, and what varies."""
    points = len(study.points())
    least, most = study.least_repeats, study.most_repeats
    repeats = _counted(most, "repeat") if least == most else f"{least} to {most} repeats"
    runs = _counted(points * most, "run")
    runs = runs if least == most else f"{points * least} to {runs}"
    yield f"{_counted(points, 'point')} × {repeats} = {runs}"
    for axis in study.sweep:
        sizes = {len(values) for values in axis.values()}
        first, *others = axis
        named = axis if all or len(axis) < MANY else (first, f"{len(others)} others")
        yield f"  {' with '.join(named)}: {_counted(max(sizes), 'value')}"
    if unnamed := list(_without_client(study)):
        said = ", ".join(unnamed)
        yield f"no `profile`: {said}. So it is {CLIENT}; `flashcrowd list clients` has others"


CLIENT = f"{Population.model_fields['profile'].default}, a client of 2005"


def _without_client(study: Study) -> Iterator[str]:
    """The populations of swarms of which nothing says which client they are."""
    swept = {path for axis in study.sweep for path in axis}
    for name, workload in study.workloads.items():
        for of, population in workload.populations.items() if isinstance(workload, Swarm) else ():
            path = f"workloads.{name}.populations.{of}"
            if "profile" not in population.model_fields_set and f"{path}.profile" not in swept:
                yield path


SURE = "  nine of ten packet and event counts are within a factor of 1.5"
"""How far these numbers may be off, by the table of `make needs` (`benches/needs/README.md`)."""
WHERE = "  time is of this machine while its cores are idle"
ELSEWHERE = "  time is of the machine of benches/README.md"
MEMORY = "memory of all is the whole process's"


def _needed(points: Sequence[Point], need: StudyNeed, all: bool, where: str) -> list[str]:
    """The need of each point's runs, and of the whole study; points with equal rows share one."""
    if not need.known:
        return ["What it will need, this engine cannot tell."]
    alike: dict[tuple[str, ...], list[int]] = {}
    for point, one in zip(points, need.points, strict=True):
        if one is not None:
            alike.setdefault(_row(one), []).append(point.index)
    rows: list[tuple[str, ...]] = [("needs, about", "packets", "events", "time", "memory")]
    if all:
        for row, which in alike.items():
            whose = f"a run of {numbered(which, len(points))}" if len(points) > 1 else "a run"
            rows.append((whose, *row))
    if len(alike) > 1 or not all:
        numbers = list(zip(*map(_numbers, need.known), strict=True))
        ends = zip(_words(list(map(min, numbers))), _words(list(map(max, numbers))), strict=True)
        rows.append(("a run", *(low if low == high else f"{low} to {high}" for low, high in ends)))
    total = (*_row(need)[:-1], size(need.process_bytes))
    rows.append((f"all, {need.jobs} at a time", *total))
    return [*columns(rows), SURE, f"{where}; {MEMORY}"]


def _room(available: int | None, wrong: Problem | None) -> list[str]:
    """Whether there is memory for that; nothing if there is."""
    if available is None:
        return ["How much memory is available here is not known: nothing is refused."]
    if wrong is None:
        return []
    return [
        f"Does not fit: {wrong.path}: {wrong.value}; {wrong.allowed}; {wrong.hint}.",
        f"To shrink a crowd, {SHRINK}.",
    ]


def _long(need: StudyNeed) -> list[str]:
    """A quicker way, where the runs take long."""
    advice = long(need.seconds) if need.known else ""
    return [f"Note: {advice}"] if advice else []


def _numbers(need: Need | StudyNeed) -> tuple[float, ...]:
    return (need.packets, need.events, need.seconds, need.bytes)


def _words(numbers: Sequence[float]) -> tuple[str, ...]:
    packets, events, seconds, bytes = numbers
    return (scaled(packets, ""), scaled(events, ""), duration(seconds), size(bytes))


def _row(need: Need | StudyNeed) -> tuple[str, ...]:
    return _words(_numbers(need))


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
