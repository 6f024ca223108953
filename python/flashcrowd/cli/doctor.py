"""`flashcrowd doctor`."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from flashcrowd._core import Plan
from flashcrowd.base.amounts import scaled
from flashcrowd.base.errors import first
from flashcrowd.base.kept import as_json
from flashcrowd.cli.options import Repeats, Seed, Settings, load
from flashcrowd.clients import PROGRAMS, opentracker
from flashcrowd.clients.programs import Program
from flashcrowd.emulation.budget import capacity
from flashcrowd.emulation.capabilities import capabilities, missing
from flashcrowd.emulation.players import OURS, PLAYERS, Player
from flashcrowd.emulation.requirements import KINDS, impossible
from flashcrowd.engines import registry
from flashcrowd.plan.parts import EMPTY
from flashcrowd.study.need import available_memory, problem, study_need

LACKING = 2
"""Exit status if something is missing that is needed."""


def doctor(
    study: Annotated[
        Path | None, Parameter(help="A study file: say whether it can be emulated here.")
    ] = None,
    *,
    set: Settings = [],  # noqa: B006
    seed: Seed = None,
    repeats: Repeats = None,
) -> int:
    """Say what this machine offers of what the engine `emulation` needs, with remedies.

    A line for each capability: it works, is missing, or is limited (runs are possible, but less
    exact or large). With a study, also what of it cannot be emulated. Nothing is changed.

    Exit status: 0 if the study, or without one anything, can be emulated here, otherwise 2.
    """
    for found in capabilities():
        print(found)
    if study is None:
        lacking = [*missing(Plan(as_json(EMPTY)))]
        print(f"\nWorkloads that programs can play: {', '.join(KINDS)}. Clients of swarms:")
        _say(PROGRAMS.values())
        print("Flows of uTP:")
        _say(it for it in PLAYERS.values() if it.name not in OURS)
        print("Trackers:\n  flashcrowd's own")
        print(f"  {opentracker.why_not() or opentracker.NAME}")
        return LACKING if lacking else 0
    loaded = load(study, set, seed, repeats)
    plans = [point.plan().parsed for point in loaded.points()]
    problems: dict[str, None] = {}
    for plan in plans:
        problems |= dict.fromkeys((*impossible(plan), *missing(plan)))
    busiest = 0.0
    if not problems:
        need = study_need(registry.engine("emulation"), plans, loaded.most_repeats, None)
        busiest = max(it.packets / max(it.seconds, 1.0) for it in need.known)
        if (found := problem(need, available_memory())) is not None:
            problems[f"{found.path}: {found.value}; {found.allowed}; {found.hint}"] = None
    if problems:
        print(f"\n{study} cannot be emulated here:")
        for said in first([*problems]):
            print(f"  {said}")
        return LACKING
    print(f"\n{study} can be emulated here.")
    if busiest > capacity():
        print(
            f"  limited: a run sends about {scaled(busiest, '')} packets a second, and this "
            f"machine is taken to carry {scaled(capacity(), '')}: runs may be invalid; fewer hosts "
            "or lower rates send less"
        )
    return 0


def _say(programs: Iterable[Program | Player]) -> None:
    """A line each: its version, or how to get it."""
    for program in programs:
        here = program.found()
        said = f" {here.version}" if here else f": not here; {program.remedy}"
        print(f"  {program.name}{said}")
