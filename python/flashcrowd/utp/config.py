"""The uTP configuration of a measurement, in the words of study files."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from flashcrowd.base.errors import Problem, StudyError, did_you_mean, one_of
from flashcrowd.scenario import shipped
from flashcrowd.scenario.mirror import to_plan
from flashcrowd.scenario.problems import problems_of, shown
from flashcrowd.scenario.utp import Utp

COMMAND_LINE = "command line"


def configuration(
    profile: str, controller: str | None = None, settings: Mapping[str, object] | None = None
) -> str:
    """A configuration that ships, or a variation of it, as the core takes it (JSON).

    Args:
        profile: the name of one that ships.
        controller: another congestion controller, with the table that ships with it.
        settings: other values by dotted path, as in `{"ledbat.target": "25 ms"}`; the paths and
            the values are those of a `[network.utp.*]` table in a study file.

    Raises:
        StudyError: there is no such profile, controller, path or value.
    """
    if profile not in shipped.utps():
        names = sorted(shipped.utps())
        problem = Problem("--profile", profile, one_of(names), did_you_mean(profile, names))
        raise StudyError([problem], COMMAND_LINE)
    given: dict[str, object] = {"base": profile}
    if controller is not None:
        given["controller"] = controller
    # A part refines a whole, in whatever order they are given.
    for path, value in sorted((settings or {}).items(), key=lambda it: it[0].count(".")):
        _put(given, path, value)
    given = shipped.completed(given, profile, shipped.utps())
    try:
        table = Utp.model_validate(given)
    except ValidationError as error:
        raise StudyError(problems_of(error, Utp, given), COMMAND_LINE) from None
    varied = controller is not None or bool(settings)
    return json.dumps({"name": f"{profile}, varied" if varied else profile, **to_plan(table)})


def _put(given: dict[str, object], path: str, value: Any) -> None:
    *above, last = path.split(".")
    table = given
    for depth, key in enumerate(above, 1):
        below = table.setdefault(key, {})
        if not isinstance(below, dict):
            hint = f"{'.'.join(above[:depth])} is {shown(below)}, which has no parts"
            problem = Problem(path, shown(value), "a value of a table", hint)
            raise StudyError([problem], COMMAND_LINE)
        table = below
    table[last] = value
