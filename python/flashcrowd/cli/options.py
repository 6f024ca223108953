"""Options that several commands share."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter, Token, validators

from flashcrowd.engines.registry import ENGINES, PREFERRED, REAL
from flashcrowd.errors import Problem, StudyError, warning
from flashcrowd.study import Study
from flashcrowd.study.overrides import parse_assignment


def whole(kind: Any, tokens: Sequence[Token]) -> int:
    """A whole number as it stands: 1.5 is none, and nothing is rounded."""
    text = tokens[0].value.strip()
    if not re.fullmatch(r"[+-]?[0-9]{1,19}", text):
        raise ValueError(f'a whole number is needed, not "{text}"')
    return int(text)


def often(kind: Any, tokens: Sequence[Token]) -> int | str:
    """How often to repeat: a whole number, or a text as a study has it, "until 2 %"."""
    text = tokens[0].value.strip()
    if text.startswith("until"):
        return text
    try:
        return whole(kind, tokens)
    except ValueError as error:
        raise ValueError(f'{error}; or "until 2 %"') from None


StudyFile = Annotated[Path, Parameter(help="The study file.")]
Settings = Annotated[
    list[str],
    Parameter(
        name="--set",
        negative=(),
        help='Replace a value of the file, as in network.rtt="50 ms". May be repeated.',
    ),
]
Seed = Annotated[int | None, Parameter(help="Replace the seed of the file.", converter=whole)]
Repeats = Annotated[
    int | str | None,
    Parameter(help='Replace the repeats of the file: a number, or "until 2 %".', converter=often),
]

RepeatInvalid = Annotated[
    int,
    Parameter(
        help="Play an invalid run of an emulation again, at most so many times; those of "
        "earlier calls, too.",
        validator=validators.Number(gte=0),
        converter=whole,
    ),
]

Across = Annotated[
    list[str],
    Parameter(
        negative=(),
        help="Another node that plays a share of each emulated run, as ADDRESS:PORT; it runs "
        "`python -m flashcrowd.emulation.member`. May be repeated.",
    ),
]

Jobs = Annotated[
    int | None,
    Parameter(
        help="Runs at a time; if not given, one a core, and of real programs as many as fit.",
        validator=validators.Number(gte=1),
        converter=whole,
    ),
]
On = Annotated[
    str | None,
    Parameter(
        help="Other machines: dask://HOST:PORT, local:WORKERS, slurm:FILE.toml, oar:FILE.toml, "
        "enoslib:FILE.toml."
    ),
]
ShardOf = Annotated[
    str | None, Parameter(help="Only a share of the runs, as in 2/8; see `flashcrowd merge`.")
]
ENGINE_NAMES = (
    f"{', '.join(ENGINES)}; {REAL} is that of the last two which plays it, "
    f"{PREFERRED} where both do"
)
EngineName = Annotated[str, Parameter(help=f"What runs the study: {ENGINE_NAMES}.")]


def load(
    study: Path, settings: Sequence[str], seed: int | None = None, repeats: int | str | None = None
) -> Study:
    """Reads a study with the values of the command line; says on standard error what it doubts.

    Raises:
        StudyError: there are mistakes in the file or on the command line.
    """
    loaded = Study.load(study, set=assignments(settings), repeats=repeats, seed=seed)
    for doubt in loaded.warnings():
        print(f"warning: {warning(doubt)}", file=sys.stderr)
    return loaded


def assignments(settings: Sequence[str]) -> dict[str, Any]:
    """The values of `--set` by path.

    Raises:
        StudyError: one of them is no `path=value`.
    """
    parsed = {text: parse_assignment(text) for text in settings}
    problems = [
        Problem("--set", text, "dotted.path=value", "as in --set network.rtt='50 ms'")
        for text, pair in parsed.items()
        if pair is None
    ]
    if problems:
        raise StudyError(problems, "command line")
    return dict(pair for pair in parsed.values() if pair is not None)
