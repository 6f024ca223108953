"""Traps with real programs: the named controllers and the oracle's limit."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from flashcrowd.base.cores import cores
from flashcrowd.base.errors import EngineError, PlanRejected
from flashcrowd.clients.controller import CONTROLLED
from flashcrowd.engines.emulation import Emulator
from flashcrowd.report import source as tables
from flashcrowd.report.source import Source
from flashcrowd.report.statistics import Estimate, estimate
from flashcrowd.store import atomic
from flashcrowd.study import Study
from flashcrowd.study.runner import run
from flashcrowd.traps import observed_run, outcome, trap
from flashcrowd.traps.observed_run import ObservedRun
from flashcrowd.traps.outcome import Verdicts
from flashcrowd.traps.run import Tell, known
from flashcrowd.traps.trap import SHARES, Trap, UnknownTrap, laid_over

FOLDER = "emulation"
"""Where the emulated traps are, below the folder of all; each has both engines."""
CONTROLLERS = ("unlimited", "autolimit")
"""The controllers that are compared by default: real time is expensive."""
_SIZE = "128 MB"
"""A real client hashes its file, and each has one. More than the fastest trap can upload."""


@dataclass(frozen=True)
class Means:
    """The means of one controller over the runs of one engine, from `Trap.from_s` to the end.

    Attributes:
        uplink: uploads as a part of the uplink.
        down_bps: what the home downloaded; ``None`` if there is no download.
        median_ms: the bystander's median round trip.
        p95_ms: its 95th percentile.
    """

    uplink: Estimate
    down_bps: Estimate | None
    median_ms: Estimate
    p95_ms: Estimate


@dataclass(frozen=True)
class Beside:
    """A trap on both engines.

    Attributes:
        simulated: what became of all in the simulation, with every fixed limit.
        emulated: what became of them with real programs, with these limits alone.
        program: what played the controlled clients.
        means: what each showed, simulated and emulated, by its name: a limit or a controller.
        counts: how many emulated runs there are.
        invalid: why runs of them are invalid, a reason each.
        failed: why runs of them failed, a reason each.
    """

    simulated: Verdicts
    emulated: Verdicts
    program: str
    means: dict[str, tuple[Means, Means]]
    counts: int
    invalid: tuple[str, ...]
    failed: tuple[str, ...] = ()


def study(
    one: Trap, limits: Sequence[float], controllers: Sequence[str], repeats: int, program: str
) -> Study:
    """A trap as a study for real programs."""
    return one.study(controllers, repeats, limits, document(one, program))


def document(one: Trap, program: str) -> dict[str, Any]:
    """The study file of a trap for real programs, but for what varies."""
    swarm = {"size": _SIZE, "populations": {"home": {"program": program}}}
    return laid_over(one.document, {"workloads": {"seeding": swarm}})


def program_of(one: Trap, wanted: str | None = None) -> str:
    """The program of the controlled clients: the one after which their profile is named."""
    home = one.document["workloads"]["seeding"]["populations"]["home"]
    return wanted or str(home["profile"])


def conduct(
    names: Sequence[str] = (),
    controllers: Sequence[str] = (),
    out: str | Path = Path("results") / "traps",
    *,
    limits: Sequence[float] = (),
    program: str | None = None,
    repeats: int = 1,
    repeat_invalid: int = 0,
    jobs: int | None = None,
    tell: Tell = lambda name, number, count: None,
    say: Callable[[str], None] = lambda text: None,
    again: str | None = None,
) -> list[Beside]:
    """Run traps, each simulated and then with real programs; a second call does what is missing.

    Args:
        names: which ones; without, all that can be emulated here.
        controllers: which ones; without, `CONTROLLERS`.
        out: the folder of all.
        limits: fixed limits, as parts of the uplink, of `SHARES`; without, the simulation's oracle.
        program: what plays the controlled clients; without, what their profile is named after.
        repeats: emulated runs of each. The simulation has as many as the trap says.
        repeat_invalid: how often an invalid run is repeated, at most.
        jobs: runs at a time; without, as many as there are cores.
        tell: called before each trap.
        say: receives how long this will take, and what cannot be emulated.
        again: as for `study.runner.run`.

    Raises:
        UnknownTrap: there is no such trap, controller, limit or program.
        PlanRejected: a trap that was named cannot be emulated here, or none can.
        ResultsError: a results folder cannot be used.
        EngineError: a run failed.
    """
    held = list(known(controllers)) if controllers else list(CONTROLLERS)
    for share in limits:
        if share not in SHARES:
            offered = ", ".join(f"{100 * each:g} %" for each in SHARES)
            raise UnknownTrap(f"no limit of {100 * share:g} %; there are {offered}")
    if program is not None and program not in CONTROLLED:
        raise UnknownTrap(f"no program {program!r}; there are {', '.join(CONTROLLED)}")
    asked = [trap.load(name) for name in (names or trap.names())]
    chosen = list(_possible(asked, program, say, strict=bool(names)))
    side_by_side = jobs or cores()
    say(_cost(chosen, len(held), limits, repeats, side_by_side))
    found = []
    for number, one in enumerate(chosen, 1):
        tell(one.name, number, len(chosen))
        place = Path(out) / FOLDER / one.name
        there = atomic.enclosed(place / "simulation", Path(out))
        simulated = run(one.study(held), out=there, jobs=jobs, again=again)
        verdicts = outcome.judge(one, simulated, held)
        shares = sorted({*(limits or verdicts.shares)})
        plays = program_of(one, program)
        engine = Emulator()
        engine.repeat_invalid = repeat_invalid
        real = study(one, shares, held, repeats, plays)
        there = atomic.enclosed(place / plays, Path(out))
        results = run(real, out=there, jobs=side_by_side, engine=engine, again=again)
        found.append(_beside(one, plays, verdicts, simulated, results, shares, held))
    return found


def _possible(
    asked: Sequence[Trap], program: str | None, say: Callable[[str], None], *, strict: bool
) -> list[Trap]:
    """The traps that can be emulated on this machine; the others are reported by name."""
    found = []
    for one in asked:
        real = study(one, SHARES[:1], ["autolimit"], 1, program_of(one, program))
        try:
            for point in real.points():
                Emulator().check(point.plan().parsed)
        except PlanRejected as refused:
            if strict:
                raise PlanRejected(f"trap {one.name} {refused}") from None
            say(f"Left out: trap {one.name} {refused}")
            continue
        found.append(one)
    if not found:
        raise PlanRejected("no trap can be emulated here; `flashcrowd doctor` says what is missing")
    return found


def _cost(
    chosen: Sequence[Trap], controllers: int, limits: Sequence[float], repeats: int, jobs: int
) -> str:
    """The time of emulated runs: their clock is a real one."""
    counts = [
        repeats * (controllers + (len(limits) or len(one.stretches))) for one in chosen
    ]  # an oracle has a limit for each stretch
    seconds = sum(one.to_s * count for one, count in zip(chosen, counts, strict=True))
    runs = sum(counts)
    return (
        f"Up to {runs} emulated runs, {max(seconds / 60, 1):.0f} min of real time in all, "
        f"{jobs} at a time. Each trap is simulated before."
    )


def _beside(
    one: Trap,
    program: str,
    simulated: Verdicts,
    source: Source,
    results: Source,
    shares: Sequence[float],
    controllers: Sequence[str],
) -> Beside:
    runs = results.tables["runs"]
    outcomes, reasons = (tables.strings(runs, name) for name in ("outcome", "reason"))
    failed = [why for how, why in zip(outcomes, reasons, strict=True) if how == "failed"]
    names = [f"{100 * share:g} %" for share in shares] + list(controllers)
    points = observed_run.read(one, results)
    if (missing := [name for index, name in enumerate(names) if not points.get(index)]) != []:
        raise EngineError(f"trap {one.name}: no run of {', '.join(missing)}: {'; '.join(failed)}")
    there = observed_run.read(one, source)
    # The simulation has every limit, and then the same controllers.
    places = [SHARES.index(share) for share in shares]
    places += [len(SHARES) + number for number in range(len(controllers))]
    means = {
        name: (_means(one, there[place]), _means(one, points[index]))
        for index, (name, place) in enumerate(zip(names, places, strict=True))
    }
    invalid = [why for how, why in zip(outcomes, reasons, strict=True) if how == "invalid"]
    begins = dataclasses.replace(one, begin_s=_begin_s(one, points[0]))
    emulated = outcome.judge(begins, results, controllers, shares)
    return Beside(simulated, emulated, program, means, len(outcomes), tuple(invalid), tuple(failed))


def _begin_s(one: Trap, runs: Sequence[ObservedRun]) -> float:
    """When the client begins to upload: a real one waits for its first round of unchoking."""
    up = np.mean([run.up for run in runs], axis=0)
    usual = up[int(one.from_s) : int(one.to_s)].mean()
    uploading = np.flatnonzero(up[int(one.begin_s) :] >= 0.5 * usual)
    return one.begin_s + float(uploading[0]) if len(uploading) else one.begin_s


def _means(one: Trap, runs: Sequence[ObservedRun]) -> Means:
    span = one.from_s, one.to_s

    def over(of: Callable[[ObservedRun], Any]) -> Estimate:
        return estimate(np.array([of(run) for run in runs], dtype=float))

    down = over(lambda run: run.mean(run.down, *span))
    return Means(
        uplink=over(lambda run: run.mean(run.up, *span) / one.most.bps),
        down_bps=down if down.mean > 0 else None,
        median_ms=over(lambda run: run.delay(0.5, *span)),
        p95_ms=over(lambda run: run.delay(0.95, *span)),
    )
