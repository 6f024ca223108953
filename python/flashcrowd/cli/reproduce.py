"""`flashcrowd reproduce`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from flashcrowd.cli.ending import again, stopped
from flashcrowd.cli.options import Jobs
from flashcrowd.cli.output import console
from flashcrowd.engines import EngineError
from flashcrowd.papers import Reproduction
from flashcrowd.papers import reproduce as reproduce_paper
from flashcrowd.papers.paper import UnknownName
from flashcrowd.papers.paper_page import tally
from flashcrowd.papers.verdict import Verdict
from flashcrowd.store import ResultsError
from flashcrowd.study.pool import Interrupted

_COLOURS = {Verdict.REPRODUCED: "green", Verdict.NOT_REPRODUCED: "red", Verdict.OPEN: "yellow"}


def reproduce(
    paper: Annotated[str, Parameter(help="The paper, such as rao2010.")],
    *,
    quick: Annotated[
        bool, Parameter(negative=(), help="A smaller crowd and fewer runs; minutes, not hours.")
    ] = False,
    out: Annotated[
        Path | None, Parameter(help="Folder for everything; results/PAPER if not given.")
    ] = None,
    jobs: Jobs = None,
    only: Annotated[
        list[str], Parameter(negative=(), help="Only this figure or table. May be repeated.")
    ] = [],  # noqa: B006
) -> int:
    """Reproduce a paper, claim by claim.

    Runs each study of the paper into a folder of its own, then judges every claim and writes
    report.html. After Ctrl-C or a crash the same command goes on where it stopped.

    Exit status: 0 done (whatever the verdicts), 1 a run failed, 2 unknown paper, wrong study or
    unusable folder, 130 after Ctrl-C, 143 after SIGTERM.
    """
    err = Console(stderr=True)

    def tell(study: str, number: int, count: int) -> None:
        err.print(Text(f"study {number} of {count}: {study}", style="bold"))

    try:
        found = reproduce_paper(
            paper, out, quick=quick, jobs=jobs, only=only, tell=tell, again=again()
        )
    except Interrupted:
        print(f"\nStopped. Finished runs are kept.\nGo on with: {again()}", file=sys.stderr)
        return stopped()
    except (UnknownName, ResultsError) as error:
        print(error, file=sys.stderr)
        return 2
    except EngineError as error:
        print(f"{error}\nFinished runs are kept.", file=sys.stderr)
        return 1
    _show(found)
    return 0


def _show(found: Reproduction) -> None:
    """The claims as a table, how many met which verdict, and where the page is."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("claim", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    table.add_column("measured", overflow="fold")
    for one in found.judged:
        verdict = one.finding.verdict
        table.add_row(
            one.claim.id,
            Text(verdict.value, style=_COLOURS.get(verdict, "dim")),
            Text(one.finding.measured),
        )
    out = console()
    out.print(table)
    out.print(Text(tally(found.judged)))
    print(f"Report: {found.page}")
