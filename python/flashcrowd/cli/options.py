"""Options that several commands share."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from flashcrowd.base.errors import first, warning
from flashcrowd.cli.values import assignments, from_on, often, whole
from flashcrowd.engines.registry import ENGINES, PREFERRED, REAL
from flashcrowd.study import Study
from flashcrowd.study.read import at_hand

StudyFile = Annotated[
    Path,
    Parameter(help="The study file; studies/NAME.toml is also one of `flashcrowd list studies`."),
]
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
    from_on(
        0,
        "How often an invalid run of an emulation is played again, at most; also those of earlier "
        "calls.",
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
    from_on(1, "Runs at a time; if not given, one per core, and of real programs as many as fit."),
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
    f"{', '.join(ENGINES)}; {REAL} takes one of the last two that can play the study, "
    f"{PREFERRED} if both can"
)
EngineName = Annotated[str, Parameter(help=f"The engine: {ENGINE_NAMES}.")]


def load(
    study: Path, settings: Sequence[str], seed: int | None = None, repeats: int | str | None = None
) -> Study:
    """Reads a study with the values of the command line; says on standard error what it doubts.

    `studies/NAME.toml` is the study of that name that ships where no such file is here.

    Raises:
        StudyError: there are mistakes in the file or on the command line.
    """
    own = at_hand(study)
    if own != study:
        print(
            f"{study} is not here: taking the study of that name that comes with flashcrowd",
            file=sys.stderr,
        )
    loaded = Study.load(own, set=assignments(settings), repeats=repeats, seed=seed)
    for path in loaded.fixed:
        print(f"{path} is no longer swept: --set gives it one value", file=sys.stderr)
    for said in first([*map(warning, loaded.warnings())]):
        print(f"warning: {said}", file=sys.stderr)
    return loaded
