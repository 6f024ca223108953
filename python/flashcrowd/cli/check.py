"""`flashcrowd check`."""

from __future__ import annotations

import sys

from flashcrowd.cli.options import EngineName, Repeats, Seed, Settings, StudyFile, load
from flashcrowd.engines import Engine, PlanRejected, registry
from flashcrowd.errors import Problem, StudyError
from flashcrowd.study import Study


def check(
    study: StudyFile,
    *,
    set: Settings = [],  # noqa: B006
    seed: Seed = None,
    repeats: Repeats = None,
    engine: EngineName = registry.DEFAULT,
) -> int:
    """Check a study and print it with every default.

    What is printed is a study file again. Nothing is run and nothing is written.
    """
    loaded = load(study, set, seed, repeats)
    try:
        _ask_engine(loaded, registry.engine(engine))
    except registry.UnknownEngine as error:
        print(error, file=sys.stderr)
        return 2
    text = f"{_summary(loaded)}\n\n{loaded.to_toml()}"
    if sys.stdout.isatty():
        from rich.console import Console
        from rich.syntax import Syntax

        Console(soft_wrap=True).print(Syntax(text, "toml", theme="ansi_dark", word_wrap=True))
    else:
        print(text, end="")
    return 0


def _ask_engine(study: Study, engine: Engine) -> None:
    """Lets the engine look at every plan, so that what passes here runs."""
    for point in study.points():
        try:
            engine.check(point.plan().to_json())
        except PlanRejected as error:
            problem = Problem(f"plan of point {point.index}", point.label, str(error))
            raise StudyError([problem], str(study.name)) from None


def _summary(study: Study) -> str:
    """How many runs a study means, and what varies, as comments."""
    points = len(study.points())
    lines = [
        f"# {_counted(points, 'point')} × {_counted(study.repeats, 'repeat')} = "
        f"{_counted(points * study.repeats, 'run')}"
    ]
    for axis in study.sweep:
        sizes = {len(values) for values in axis.values()}
        lines.append(f"#   {' with '.join(axis)}: {_counted(max(sizes), 'value')}")
    return "\n".join(lines)


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
