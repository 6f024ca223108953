"""An example for a key that is missing."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from flashcrowd.base.errors import MISSING, Problem
from flashcrowd.study.explain import find

_SWEPT = re.compile(r'sweep\."([^"]+)"\[\d+\](.*)')


def with_examples(problems: Iterable[Problem]) -> list[Problem]:
    """The problems; a hint on a key that is missing ends with a line that has it."""
    return [_with_example(it) if it.value == MISSING else it for it in problems]


def _with_example(problem: Problem) -> Problem:
    swept = _SWEPT.fullmatch(problem.path)
    keys = find("".join(swept.groups()) if swept else problem.path)
    for key in keys:
        value = next(iter(key.shipped), key.example.partition(" = ")[2])
        if value:
            line = f"as in {key.path[-1]} = {value}"
            return replace(problem, hint=f"{problem.hint.rstrip('.')}, {line}".lstrip(", "))
    return problem
