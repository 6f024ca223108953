"""`flashcrowd reproduce`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from rich import box
from rich.table import Table
from rich.text import Text

from flashcrowd import terminal
from flashcrowd.cli import failed
from flashcrowd.cli.ending import again, stopped
from flashcrowd.cli.options import ENGINE_NAMES, Jobs, RepeatInvalid
from flashcrowd.cli.output import console
from flashcrowd.engines import EngineError, PlanRejected, registry
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
    engine: Annotated[
        str,
        Parameter(
            help=f"What runs the studies: {ENGINE_NAMES}. Beside real programs the simulation runs "
            "the same studies."
        ),
    ] = registry.DEFAULT,
    repeat_invalid: RepeatInvalid = 0,
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
    err = terminal.console(stderr=True)

    def tell(study: str, number: int, count: int) -> None:
        err.print(Text(f"study {number} of {count}: {study}", style="bold"))

    def missing(study: str, why: str) -> None:
        err.print(Text(f"study {study} is left out: {why}", style="yellow"))

    try:
        found = reproduce_paper(
            paper,
            out,
            quick=quick,
            jobs=jobs,
            only=only,
            tell=tell,
            again=again(),
            engine=engine,
            repeat_invalid=repeat_invalid,
            missing=missing,
        )
    except Interrupted:
        print(f"\nStopped. Finished runs are kept.\nGo on with: {again()}", file=sys.stderr)
        return stopped()
    except (UnknownName, registry.UnknownEngine, ResultsError) as error:
        print(error, file=sys.stderr)
        return 2
    except EngineError as error:
        print(f"{error}\nFinished runs are kept.", file=sys.stderr)
        return 2 if isinstance(error, PlanRejected) else 1
    _show(found)
    states = [
        failed.told(failed.reasons(results), results.tables["runs"].num_rows, f" of study {study}")
        for study, results in found.results
    ]
    return max(states, default=0)


def _show(found: Reproduction) -> None:
    """The claims as a table, how many met which verdict, and where the page is."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("claim", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    if found.simulated is not None:
        table.add_column("simulation", no_wrap=True)
    table.add_column("measured", overflow="fold")
    beside = {one.claim.id: one.finding for one in found.simulated or ()}
    for one in found.judged:
        findings = [one.finding, *([beside[one.claim.id]] if one.claim.id in beside else [])]
        verdicts = [
            Text(it.verdict.value, style=_COLOURS.get(it.verdict, "dim")) for it in findings
        ]
        table.add_row(one.claim.id, *verdicts, Text(one.finding.measured))
    out = console()
    out.print(table)
    out.print(Text(tally(found.judged)))
    for distance in found.distances:
        for sentence in distance.sentences:
            out.print(Text(f"{distance.study}: {sentence}"))
    print(f"Report: {found.page}")
