"""`flashcrowd plan`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from flashcrowd.base.errors import Problem, StudyError
from flashcrowd.cli.options import Settings, StudyFile, load
from flashcrowd.cli.output import writing
from flashcrowd.cli.values import from_on


def plan(
    study: StudyFile,
    *,
    point: Annotated[int, from_on(0, "Which point of the sweep, from 0.")] = 0,
    out: Annotated[Path | None, Parameter(help="A file to write; without, prints.")] = None,
    set: Settings = [],  # noqa: B006
) -> None:
    """Write the plan of one point of a study, as the engine reads it."""
    points = load(study, set).points()
    if point >= len(points):
        allowed = f"a number from 0 to {len(points) - 1}"
        raise StudyError([Problem("--point", str(point), allowed)], "command line")
    made = points[point].plan()
    if out is None:
        print(made.to_json())
    else:
        with writing(out):
            made.save(out)
