"""`flashcrowd expect`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from flashcrowd.cli.output import console
from flashcrowd.report import expectations
from flashcrowd.store import Results, ResultsError
from flashcrowd.store import open as open_results
from flashcrowd.store.errors import understood

_HINT = """\
  Write tables [expect.NAME] into the study and run it again, as in
    [expect.soon]
    measure = "median download time"
    below = "1 min\""""


def expect(
    folder: Annotated[Path, Parameter(help="The results folder.")],
    *,
    quiet: Annotated[
        bool,
        Parameter(name=["--quiet", "-q"], negative=(), help="No table; the exit status only."),
    ] = False,
) -> int:
    """Judge what a study expects of its results: kept, broken or undecided.

    The study says it in tables [expect.NAME]. Exit status: 0 all kept, 4 one is broken, 5 none is
    broken and one is undecided, 2 the study expects nothing, or no complete results.
    """
    try:
        return understood(status)(open_results(folder), quiet=quiet)
    except ResultsError as error:
        print(error, file=sys.stderr)
        return 2


def status(results: Results, *, quiet: bool = False) -> int:
    """Judges, shows it unless `quiet`, and gives the exit status."""
    judged = expectations.judge(results)
    if not judged:
        wrong = f"{results.path}: the study expects nothing"
        print(f"{wrong}\n{_HINT}", file=sys.stderr)
        return 2
    if not quiet:
        console().print(expectations.summary(judged))
    return expectations.STATUS[expectations.overall(judged)]
