"""`flashcrowd compare`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from flashcrowd.base.units import Share, UnitError
from flashcrowd.cli.output import console
from flashcrowd.report import compare as comparing
from flashcrowd.report.compare_match import names_of
from flashcrowd.store import ResultsError
from flashcrowd.store.errors import understood
from flashcrowd.store.manifest import Manifest


def compare(
    first: Annotated[Path, Parameter(help="The results folder that the others are compared with.")],
    *others: Annotated[Path, Parameter(help="One or more results folders.")],
    margin: Annotated[
        str, Parameter(help="The largest equivalent difference, as a share of the first mean.")
    ] = "5 %",
    out: Annotated[
        Path | None, Parameter(help="Write compare.html and its figures into this folder, too.")
    ] = None,
    all: Annotated[
        bool,
        Parameter(negative=(), help="Show the tables of all measures, not of the headline alone."),
    ] = False,
    report: Annotated[
        bool, Parameter(negative=(), help="Write the page into comparison/ if --out is not given.")
    ] = False,
) -> int:
    """Put results folders side by side: means, differences with intervals, and a verdict.

    Points are matched by their sweep values, runs in pairs by their seeds. A verdict is
    "equivalent within 5 %" (two one-sided tests at the level of 5 %), "different" (the 95 %
    interval of the difference is without zero) or "undecided".

    Exit status: 0 compared, whatever came out; 2 not comparable, or no complete results.
    """
    try:
        share = Share(margin).value
        if not 0 < share < 1:
            raise UnitError("a share of more than 0 % and less than 100 %")
    except (UnitError, ValueError) as error:
        print(f"--margin {margin!r}: {error}", file=sys.stderr)
        return 2
    folders = [first, *others]
    if len(folders) < 2:
        print("A comparison needs at least two results folders.", file=sys.stderr)
        return 2
    try:
        target = out or (Path("comparison") if report else None)
        page = _compared(folders, share, all, target)
    except (ResultsError, comparing.Incomparable) as error:
        print(error, file=sys.stderr)
        return 2
    if page is not None:
        print(f"Report: {page}")
    return 0


@understood
def _compared(folders: Sequence[Path], share: float, every: bool, out: Path | None) -> Path | None:
    engines = [Manifest.read(folder).engine.name for folder in folders]
    names = names_of(engines, [str(folder.resolve()) for folder in folders])
    sides = [comparing.open_side(f, name) for f, name in zip(folders, names, strict=True)]
    found = comparing.compare_sides(sides, share)
    _show(found, every)
    return found.write(out) if out else None


def _show(found: comparing.Comparison, every: bool) -> None:
    console().print(found.summary(every=every))
    more = len(found.measures) - found.decisive
    if more > 0 and not every:
        print(f"--all shows the tables of {more} more measures.")
