"""`flashcrowd qlog`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from flashcrowd.cli.output import takes_files
from flashcrowd.cli.values import from_on
from flashcrowd.qlog import write
from flashcrowd.store import ResultsError
from flashcrowd.store import open as open_results
from flashcrowd.store.errors import understood


def qlog(
    folder: Annotated[Path, Parameter(help="The results folder.")],
    *,
    out: Annotated[Path, Parameter(name=["--out", "-o"], help="The folder for the files.")],
    run: Annotated[int, from_on(0, "The run.")] = 0,
    format: Annotated[
        Literal["json-seq", "json"], Parameter(help="JSON-SEQ (.sqlog), or one object (.qlog).")
    ] = "json-seq",
) -> int:
    """Write the logs of a run's connections as files of qlog, which qvis opens.

    The study says by `[measures.connections]` what is logged. Exit status: 0 done, 2 no complete
    results, or no logs in them.
    """
    if not takes_files(out):
        return 2
    try:
        files = understood(write)(open_results(folder), out, run=run, format=format)
    except ResultsError as error:
        print(error, file=sys.stderr)
        return 2
    if not files:
        print(
            f"{folder}: run {run} logged no connections; a study asks for logs by a table "
            "[measures.connections]",
            file=sys.stderr,
        )
        return 2
    print(f"{len(files)} log{'s' if len(files) > 1 else ''}: {out}")
    return 0
