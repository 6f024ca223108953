"""`flashcrowd run`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from flashcrowd.cli.ending import again, stopped
from flashcrowd.cli.options import EngineName, Jobs, Repeats, Seed, Settings, StudyFile, load
from flashcrowd.cli.output import console
from flashcrowd.engines import EngineError, PlanRejected, registry
from flashcrowd.extras import remedy
from flashcrowd.store import IncompleteResults, Results, ResultsError
from flashcrowd.store import open as open_results
from flashcrowd.study.campaign import conduct, fitting_folder
from flashcrowd.study.progress import Lines
from flashcrowd.study.runner import admit, default_folder, prepare
from flashcrowd.study.threads import Threads

UNFINISHED = 3
"""Exit status with --strict if a run stalled, is invalid or was cut off."""


def run(
    study: StudyFile,
    *,
    out: Annotated[
        Path | None, Parameter(help="Results folder; results/NAME if not given.")
    ] = None,
    jobs: Jobs = None,
    engine: EngineName = registry.DEFAULT,
    seed: Seed = None,
    repeats: Repeats = None,
    set: Settings = [],  # noqa: B006
    fresh: Annotated[
        bool,
        Parameter(negative=(), help="Use a new folder beside one that holds other results."),
    ] = False,
    report: Annotated[
        bool, Parameter(negative=(), help="Make the report, too, as `flashcrowd report` does.")
    ] = False,
    force: Annotated[
        bool,
        Parameter(negative=(), help="Begin even if the runs may need more memory than there is."),
    ] = False,
    strict: Annotated[
        bool,
        Parameter(negative=(), help="Exit status 3 if a run stalled, is invalid or was cut off."),
    ] = False,
    expect: Annotated[
        bool,
        Parameter(
            negative=(),
            help="Exit status 4 if an expectation of the study is broken, 5 if one is undecided.",
        ),
    ] = False,
    quiet: Annotated[bool, Parameter(negative=(), help="No progress and no summary.")] = False,
) -> int:
    """Run a study; a second call does what is missing.

    Runs on all cores. After Ctrl-C or a crash, and with more --repeats, the same command goes on
    where it stopped. Results of another study or version of the engine are never mixed in.

    Before anything runs, what it will need is compared with the memory of this machine. A terminal
    is shown a bar; elsewhere a line comes at the start, every 10 s and at the end.

    Exit status: 0 done, 1 a run failed or the output cannot be written, 2 wrong study, one that
    does not fit, or unusable folder, 3 with --strict if a run stalled, is invalid or was cut off,
    with --expect 4 if an expectation is broken and 5 if none is broken and one is undecided, 130
    after Ctrl-C, 143 after SIGTERM.
    """
    loaded = load(study, set, seed, repeats)
    folder = out or default_folder(loaded)
    try:
        chosen = registry.engine(engine)
        campaign = prepare(loaded, chosen)
        need = admit(campaign, chosen, jobs, force)
        folder = fitting_folder(campaign, folder) if fresh else folder
        lines = Lines(need, again())
        results = conduct(campaign, chosen, folder, Threads(jobs), not quiet, lines)
        if not quiet:
            _show(results)
        if report:
            _report(results)
    except KeyboardInterrupt:
        return _stopped(folder)
    except (registry.UnknownEngine, ResultsError) as error:
        print(error, file=sys.stderr)
        return 2
    except EngineError as error:
        kept = "Finished runs are kept." if folder.exists() else "Nothing was run."
        print(f"{error}\n{kept}", file=sys.stderr)
        return 2 if isinstance(error, PlanRejected) else 1
    unfinished = _warn(results)
    if strict and unfinished:
        return UNFINISHED
    return _judge(results) if expect else 0


def _show(results: Results) -> None:
    try:
        from flashcrowd.report import summary  # late: plotting libraries take a while to load
    except ModuleNotFoundError as error:
        line = remedy(error)
        if line is None:
            raise
        print(f"No summary: {line}")
    else:
        console().print(summary(results))
    print(f"Results: {results.path}")


def _judge(results: Results) -> int:
    from flashcrowd.cli.expect import status

    return status(results, quiet=True)  # the summary shows it


def _stopped(folder: Path) -> int:
    """After Ctrl-C: what is kept, and how to go on."""
    try:
        open_results(folder)
        state = "All runs are finished."
    except IncompleteResults as error:
        state = f"{error.done} of {error.total} runs are finished and kept in {folder}."
    except ResultsError:
        state = "No run has begun."
    print(f"\nStopped. {state}\nGo on with: {again()}", file=sys.stderr)
    return stopped()


def _report(results: Results) -> None:
    from flashcrowd.report import write

    print(f"Report: {write(results, results.path)}")


def _warn(results: Results) -> bool:
    """Name runs that stalled or are invalid; whether there are such, or runs that were cut off.

    They are results all the same. The summary says which were cut off.
    """
    rows = results.tables["runs"].select(["run", "outcome", "reason"]).to_pylist()
    reasons: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        if words := _WORDS.get(row["outcome"]):
            reasons.setdefault((words, row["reason"]), []).append(str(row["run"]))
    for (words, reason), runs in reasons.items():
        shown = ", ".join(runs[:10]) + (", …" if len(runs) > 10 else "")
        text = f"{len(runs)} of {len(rows)} runs {words}: {reason} (run {shown})"
        print(f"warning: {text}", file=sys.stderr)
    return any(row["outcome"] in (*_WORDS, "horizon") for row in rows)


_WORDS = {"stalled": "stalled", "invalid": "are invalid"}
"""What is said of outcomes that nobody planned."""
