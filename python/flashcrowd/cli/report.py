"""`flashcrowd report`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from flashcrowd.base.units import UnitError
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
    csv: Annotated[
        bool,
        Parameter(negative=(), help="Print means, intervals and n as CSV, and write nothing."),
    ] = False,
    figures: Annotated[
        str, Parameter(help="Also write each figure for a paper, in this format: svg, pdf or png.")
    ] = "",
    width: Annotated[
        str, Parameter(help='Width of these figures, such as "252 pt" or "8.8 cm".')
    ] = "",
    font: Annotated[str, Parameter(help='Font of these figures, such as "Times New Roman".')] = "",
) -> int:
    """Make the report of a results folder: one HTML page, its figures as SVG, their data as CSV.

    A folder of `flashcrowd autolimit --history` gets a page of its own kind.

    The page opens offline and needs nothing beside it. Exit status: 0 done, 2 no complete results.
    """
    target = out or folder
    try:
        drawing = _printing(figures, width, font)
        if csv:
            print(_csv(folder), end="")
            return 0
        if not takes_files(target):
            return 2
        with drawing():
            page = _write(folder, target)
    except (ResultsError, UnitError) as error:
        print(error, file=sys.stderr)
        return 2
    print(f"Report: {page}")
    return 0


def _printing(form: str, width: str, font: str) -> Callable[[], AbstractContextManager[None]]:
    """The context that makes figures for a paper while a page is drawn.

    Raises:
        UnitError: an option cannot be; says which, and what can.
    """
    if not form:
        for option, given in (("--width", width), ("--font", font)):
            if given:
                raise UnitError(f"{option} {given!r}: needs --figures, such as --figures pdf")
        return nullcontext
    # Late: plotting libraries take a while.
    from flashcrowd.drawing import printing

    try:
        how = printing.asked(form, width, font)
    except UnitError as error:
        given = {"figures": form, "width": width, "font": font}[error.key]
        raise UnitError(f"--{error.key} {given!r}: {error}") from None
    return lambda: printing.printing(how)


@understood
def _csv(folder: Path) -> str:
    from flashcrowd.report import estimates

    return estimates.csv(open_results(folder))


@understood
def _write(folder: Path, target: Path) -> Path:
    # Late: plotting libraries take a while.
    if (folder / "autolimit.json").is_file():
        from flashcrowd.autolimit.page import write as write_history

        return write_history(folder, target)
    results = open_results(folder)
    from flashcrowd.report.study_page import write

    return write(results, target)
