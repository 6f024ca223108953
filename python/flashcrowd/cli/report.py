"""`flashcrowd report`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from flashcrowd.cli.output import takes_files
from flashcrowd.store import ResultsError
from flashcrowd.store import open as open_results
from flashcrowd.store.errors import understood


def report(
    folder: Annotated[Path, Parameter(help="The results folder, or the history of an autolimit.")],
    *,
    out: Annotated[
        Path | None, Parameter(help="Where to put report.html and figures/; FOLDER if not given.")
    ] = None,
) -> int:
    """Make the report of a results folder: one HTML page, and its figures as SVG files.

    A folder of `flashcrowd autolimit --history` gets a page of its own kind.

    The page opens offline and needs nothing beside it. Exit status: 0 done, 2 no complete results.
    """
    target = out or folder
    if not takes_files(target):
        return 2
    try:
        page = _write(folder, target)
    except ResultsError as error:
        print(error, file=sys.stderr)
        return 2
    print(f"Report: {page}")
    return 0


@understood
def _write(folder: Path, target: Path) -> Path:
    # Late: plotting libraries take a while.
    if (folder / "autolimit.json").is_file():
        from flashcrowd.autolimit.page import write as write_history

        return write_history(folder, target)
    results = open_results(folder)
    from flashcrowd.report.study_page import write

    return write(results, target)
