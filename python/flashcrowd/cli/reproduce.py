"""`flashcrowd reproduce`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from rich.text import Text

from flashcrowd.base import terminal
from flashcrowd.base.errors import one_of
from flashcrowd.base.signals import stopped
from flashcrowd.cli import failed
from flashcrowd.cli.ending import again
from flashcrowd.cli.options import ENGINE_NAMES, Jobs, RepeatInvalid
from flashcrowd.cli.output import console
from flashcrowd.cli.values import from_on
from flashcrowd.engines import EngineError, PlanRejected, registry
from flashcrowd.papers import Reproduction
from flashcrowd.papers import reproduce as reproduce_paper
from flashcrowd.papers.claim import Judged
from flashcrowd.papers.paper import UnknownName, names
from flashcrowd.papers.paper_docs import NoPlace
from flashcrowd.papers.paper_page import main_findings, tally
from flashcrowd.papers.record import RecordError
from flashcrowd.papers.verdict import MEANING, Finding, Verdict
from flashcrowd.store import ResultsError
from flashcrowd.study.pool import Interrupted

_COLOURS = {Verdict.REPRODUCED: "green", Verdict.NOT_REPRODUCED: "red", Verdict.OPEN: "yellow"}


def reproduce(
    paper: Annotated[
        str | None, Parameter(show_default=False, help=f"The paper: {one_of(names())}.")
    ] = None,
    *,
    quick: Annotated[bool, Parameter(negative=(), help="A smaller crowd and fewer runs.")] = False,
    out: Annotated[
        Path | None, Parameter(help="Folder for everything; results/PAPER if not given.")
    ] = None,
    jobs: Jobs = None,
    engine: Annotated[
        str,
        Parameter(
            help=f"The engine: {ENGINE_NAMES}. With real programs, the simulation also runs "
            "the same studies."
        ),
    ] = registry.DEFAULT,
    repeat_invalid: RepeatInvalid = 0,
    only: Annotated[
        list[str], Parameter(negative=(), help="Only this figure or table. May be repeated.")
    ] = [],  # noqa: B006
    all: Annotated[
        bool, Parameter(negative=(), help="Print every claim, not only those not reproduced.")
    ] = False,
    write_docs: Annotated[
        Path | None,
        Parameter(
            help="Also write how many claims met which verdict, and the tables of figures, into "
            "this page in Markdown, at the places that comments in it mark. If there are none, the "
            "error says which lines to add. The findings of a campaign without --quick are added "
            "to those in a JSON file beside the page, so that studies may be run one at a time."
        ),
    ] = None,
    shuffles: Annotated[
        int,
        from_on(
            0,
            "How often the claims are judged again with the runs shuffled among the points of "
            "their study, so that no setting has an effect. Few should be reproduced then.",
        ),
    ] = 0,
) -> int:
    """Reproduce a paper, claim by claim.

    Runs each study of the paper into a folder of its own, then judges every claim and writes
    report.html. Prints the claims that were not reproduced, and counts the others. After Ctrl-C or
    a crash the same command goes on where it stopped.

    Exit status: 0 done (whatever the verdicts), 1 a run failed, 2 unknown paper, wrong study or
    unusable folder, 130 after Ctrl-C, 143 after SIGTERM.
    """
    if paper is None:
        print(f"flashcrowd reproduce PAPER: PAPER is {one_of(names())}", file=sys.stderr)
        return 2
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
            shuffles=shuffles,
            docs=write_docs,
            missing=missing,
        )
    except Interrupted:
        print(f"\nStopped. Finished runs are kept.\nGo on with: {again()}", file=sys.stderr)
        return stopped()
    except (UnknownName, NoPlace, RecordError, registry.UnknownEngine, ResultsError) as error:
        print(error, file=sys.stderr)
        return 2
    except EngineError as error:
        print(f"{error}\nFinished runs are kept.", file=sys.stderr)
        return 2 if isinstance(error, PlanRejected) else 1
    show(found, everything=all)
    states = [
        failed.told(failed.reasons(results), results.tables["runs"].num_rows, f" of study {study}")
        for study, results in found.results
    ]
    return max(states, default=0)


def show(found: Reproduction, *, everything: bool) -> None:
    """The main findings; the claims that were not reproduced, or all; how many met which verdict;
    the page.
    """  # noqa: D205
    out = console()
    beside = {one.claim.id: one.finding for one in found.simulated or ()}
    main = main_findings(found.judged)
    title = "The main finding of the paper" if len(main) == 1 else "Main findings of the paper"
    out.print(Text(title, style="bold"))
    for one in main:
        out.print(_claim(one, beside.get(one.claim.id)))
    if not main:
        out.print(Text("They need studies that were not run.\n"))
    missed = [it for it in found.judged if it.finding.verdict is Verdict.NOT_REPRODUCED]
    shown = [it for it in (found.judged if everything else missed) if it not in main]
    if shown:
        title = "All other claims" if everything else "Other claims that are not reproduced"
        out.print(Text(title, style="bold"))
    for one in shown:
        out.print(_claim(one, beside.get(one.claim.id)))
    out.print(Text(tally(found.judged)))
    out.print(Text(f"{MEANING}.", style="dim"))
    if found.null_world:
        out.print(Text(found.null_world.sentence))
    if not everything and len(missed) < len(found.judged):
        out.print(Text("All claims with their numbers: --all, or the report.", style="dim"))
    for distance in found.distances:
        for sentence in distance.sentences:
            out.print(Text(f"{distance.study}: {sentence}"))
    print(f"Report: {found.page}")


def _claim(one: Judged, simulated: Finding | None) -> Text:
    """A claim: its verdict and its sentence, the paper's number, and ours."""
    claim, finding = one.claim, one.finding
    lines = Text.assemble(
        (finding.verdict.value, _COLOURS.get(finding.verdict, "dim")),
        f"  {claim.says} ",
        (f"({claim.section}; {claim.id})", "dim"),
        "\n",
    )
    numbers = [
        ("test", claim.note), ("paper", claim.published), ("measured", finding.measured),
    ]  # fmt: skip
    if simulated is not None:
        numbers.append(("simulation", f"{simulated.verdict.value}, {simulated.measured}"))
    for name, value in numbers:
        if value:
            lines.append(f"  {name + ':':<11} {value}\n", "dim" if name == "test" else "")
    return lines
