"""`flashcrowd run`."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from flashcrowd.base import reasons
from flashcrowd.base.amounts import counted
from flashcrowd.base.cluster_errors import ClusterError
from flashcrowd.base.extras import remedy, required
from flashcrowd.base.signals import stopped
from flashcrowd.cli import failed
from flashcrowd.cli.ending import again
from flashcrowd.cli.options import (
    ENGINE_NAMES,
    Across,
    Jobs,
    On,
    RepeatInvalid,
    Repeats,
    Seed,
    Settings,
    ShardOf,
    StudyFile,
    load,
)
from flashcrowd.cli.output import console
from flashcrowd.cli.where import admitted, carried, on_nodes, share, share_of
from flashcrowd.cluster.executor import Executor
from flashcrowd.engines import Engine, EngineError, PlanRejected, registry
from flashcrowd.store import IncompleteResults, Results, ResultsError, atomic
from flashcrowd.store import open as open_results
from flashcrowd.store.errors import understood
from flashcrowd.store.shard import Shard
from flashcrowd.study import Study
from flashcrowd.study.calibration import of_here
from flashcrowd.study.campaign import Campaign, conduct, fitting_folder
from flashcrowd.study.need import StudyNeed
from flashcrowd.study.progress import Lines
from flashcrowd.study.runner import both_folder, default_folder, prepare

BOTH = "both"
"""In place of an engine's name: the simulation and what plays a study's real programs, compared."""

COMPARISON = "comparison"
"""The folder of the page that compares the engines, beside theirs."""

UNFINISHED = 3
"""Exit status with --strict if a run stalled, is invalid, was cut off or lacks bytes."""


def run(
    study: StudyFile,
    *,
    out: Annotated[
        Path | None,
        Parameter(
            help="Results folder; results/NAME if not given, of both engines results/NAME-both."
        ),
    ] = None,
    jobs: Jobs = None,
    on: On = None,
    shard: ShardOf = None,
    engine: Annotated[
        str,
        Parameter(
            help=f"The engine: {ENGINE_NAMES}; {BOTH} is the simulation and that one, compared."
        ),
    ] = registry.DEFAULT,
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
        Parameter(
            negative=(),
            help="Exit status 3 if a run stalled, is invalid, was cut off, or did not "
            "deliver everything.",
        ),
    ] = False,
    expect: Annotated[
        bool,
        Parameter(
            negative=(),
            help="Exit status 4 if an expectation of the study is broken, 5 if one is undecided.",
        ),
    ] = False,
    repeat_invalid: RepeatInvalid = 0,
    across: Across = [],  # noqa: B006
    quiet: Annotated[
        bool, Parameter(name=["--quiet", "-q"], negative=(), help="No progress and no summary.")
    ] = False,
) -> int:
    """Run a study; a second call does what is missing.

    Runs on all cores, or on other machines with --on. After Ctrl-C or a crash, and with more
    --repeats, the same command goes on where it stopped. Results of another study or version of the
    engine are never mixed in.

    Before anything runs, the memory that it needs is compared with this machine's. A terminal shows
    a bar; elsewhere a line is printed at the start, every 10 s and at the end. If the runs need
    half an hour or more, the first line says so.

    With --engine both, each engine has a folder of its own name in the results folder, and what
    `flashcrowd compare` says of the two is printed, and written into comparison/ beside them.

    Exit status: 0 done, 1 a run failed or the output cannot be written, 2 wrong study, one that
    does not fit, or unusable folder, 3 with --strict if a run stalled, is invalid, was cut off, or
    did not deliver everything, with --expect 4 if an expectation is broken and 5 if none is broken
    and one is undecided, 130 after Ctrl-C, 143 after SIGTERM.
    """
    loaded = load(study, set, seed, repeats)
    if report or expect or engine == BOTH:
        required("report")
    both, engine = engine == BOTH, registry.meant(engine, loaded.kinds)
    try:
        split = None if shard is None else Shard.parse(shard)
    except ValueError as error:
        print(f"--shard: {error}", file=sys.stderr)
        return 2
    if both and split is not None:
        print("--shard: needs one engine; run and merge the shards of each", file=sys.stderr)
        return 2
    folder = base = out or share_of((both_folder if both else default_folder)(loaded), split)
    found: list[Results] = []
    try:
        place = None if on is None else Executor.parse(on)
        if place is not None and place.nodes:
            if both or split is not None or fresh or across:
                raise ClusterError(
                    "--on enoslib: with one engine, no --shard, no --fresh and no --across"
                )
            lines = Lines(None, again())
            done = on_nodes(loaded, engine, base, place, jobs, force, repeat_invalid, quiet, lines)
            found.append(done)
            if not quiet:
                _show(done)
            if report:
                _report(done)
            names = []
        else:
            names = [registry.DEFAULT, registry.beside(loaded.kinds)] if both else [engine]
        parts = [
            _part(loaded, name, folder, jobs, place, force, fresh, across)
            for name in names
            for folder in [atomic.enclosed(base / name, base) if both else base]
        ]
        for part in parts:
            part.engine.repeat_invalid = repeat_invalid
        for part in parts:
            folder = part.folder
            if both and not quiet:
                print(f"{part.engine.name} into {folder}", file=sys.stderr)
            lines = Lines(part.need, again())
            with carried(place, part.engine, part.need, force) as pool:
                if split is not None:
                    return share(part.campaign, part.engine, folder, pool, split, quiet, lines)
                done = conduct(part.campaign, part.engine, folder, pool, not quiet, lines)
            found.append(done)
            if not (quiet or both):
                _show(done)
            if report:
                _report(done)
        comparison = _compare(found, atomic.enclosed(base / COMPARISON, base), quiet) if both else 0
    except KeyboardInterrupt as stop:
        return _stopped(folder, str(stop))
    except (registry.UnknownEngine, ResultsError, ClusterError) as error:
        print(error, file=sys.stderr)
        return 2
    except EngineError as error:
        kept = "Finished runs are kept." if folder.exists() else "Nothing was run."
        print(f"{error}\n{kept}", file=sys.stderr)
        return 2 if isinstance(error, PlanRejected) else 1
    unfinished = [_warn(results, results.manifest.engine.name if both else "") for results in found]
    # A program that crashed is no result, whatever is expected of the results.
    if broken := failed.status([why for results in found for why in failed.reasons(results)]):
        return broken
    if comparison:
        return comparison
    if strict and any(unfinished):
        return UNFINISHED
    if not expect:
        return 0
    judged = [_judge(results) for results in found]
    return min(filter(None, judged), default=0)  # broken in one before undecided in the other


@dataclass(frozen=True)
class _Part:
    """A study and one of the engines that run it."""

    engine: Engine
    campaign: Campaign
    need: StudyNeed | None
    folder: Path


def _part(
    study: Study,
    name: str,
    folder: Path,
    jobs: int | None,
    place: Executor | None,
    force: bool,
    fresh: bool,
    across: Sequence[str],
) -> _Part:
    chosen = registry.engine(name)
    if across:
        from flashcrowd.engines.emulation import Emulator  # late, as it is Linux's alone

        if not isinstance(chosen, Emulator) or place is not None:
            raise ClusterError("--across: with --engine emulation, and without --on")
        chosen.across = tuple(across)
    campaign = prepare(study, chosen)
    need = admitted(campaign, chosen, jobs, force, place)
    if need is not None:
        need = of_here(chosen, study, need)
    return _Part(chosen, campaign, need, fitting_folder(campaign, folder) if fresh else folder)


@understood
def _compare(found: list[Results], folder: Path, quiet: bool) -> int:
    """How far apart the engines are, printed and as a page; the exit status."""
    from flashcrowd.report import compare as comparing  # late, as the summary

    try:
        sides = [comparing.Side.of(each, each.manifest.engine.name) for each in found]
        comparison = comparing.compare_sides(sides)
        if not quiet:
            console().print(comparison.summary())
        print(f"Comparison: {comparison.write(folder)}")
    except comparing.Incomparable as error:
        print(error, file=sys.stderr)
        return 2
    return 0


@understood
def _show(results: Results) -> None:
    try:
        from flashcrowd.report.summary import summary  # late: it takes a while to load
    except ModuleNotFoundError as error:
        line = remedy(error)
        if line is None:
            raise
        print(f"No summary: {line}")
    else:
        console().print(summary(results))
    print(f"Results: {results.path}")


@understood
def _judge(results: Results) -> int:
    from flashcrowd.cli.expect import status

    return status(results, quiet=True)  # the summary shows it


def _stopped(folder: Path, state: str = "") -> int:
    """After Ctrl-C: what is kept, and how to go on."""
    try:
        if not state:
            open_results(folder)
            state = "All runs are finished."
    except IncompleteResults as error:
        state = f"{error.done} of {error.total} runs are finished and kept in {folder}."
    except ResultsError:
        state = "No run has begun."
    print(f"\nStopped. {state}\nGo on with: {again()}", file=sys.stderr)
    return stopped()


@understood
def _report(results: Results) -> None:
    from flashcrowd.report.study_page import write

    print(f"Report: {write(results, results.path)}")


@understood
def _warn(results: Results, engine: str = "") -> bool:
    """Name runs that did not end as planned; whether there are such, or any cut off.

    They are results all the same. The summary says which were cut off.
    """
    rows = results.tables["runs"].select(["run", "outcome", "reason"]).to_pylist()
    alike: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for row in rows:
        if words := _WORDS.get(row["outcome"]):
            # Two that differ in their numbers have one reason.
            alike.setdefault((words, reasons.form(row["reason"])), []).append(row)
    for (words, _), found in alike.items():
        runs = [str(row["run"]) for row in found]
        shown = ", ".join(runs[:10]) + (", …" if len(runs) > 10 else "")
        all_runs = counted(len(rows), f"{engine} run" if engine else "run")
        reason = reasons.said([row["reason"] for row in found])
        text = f"{len(runs)} of {all_runs} {words}: {reason} (run {shown})"
        print(f"warning: {text}", file=sys.stderr)
    if any(row["outcome"] == "invalid" for row in rows):
        print(_REMEDY, file=sys.stderr)
    return any(row["outcome"] in (*_WORDS, "horizon") for row in rows)


_WORDS = {
    "undelivered": "did not deliver everything",
    "stalled": "stalled",
    "invalid": "are invalid",
    "failed": "failed",
}
"""The message about unplanned outcomes."""
_REMEDY = "Fewer at a time (--jobs) or a quieter machine help; --repeat-invalid N plays them again."
"""The remedy for invalid runs, which only runs in real time can be."""
