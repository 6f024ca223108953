"""Run traps and hold every controller against the oracle."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from flashcrowd.store import atomic
from flashcrowd.study.runner import run
from flashcrowd.traps import outcome, trap
from flashcrowd.traps.outcome import Verdicts
from flashcrowd.traps.trap import UnknownTrap

#: Called before each trap: its name, its number from 1, and how many there are.
Tell = Callable[[str, int, int], None]


def conduct(
    names: Sequence[str] = (),
    controllers: Sequence[str] = (),
    out: str | Path = Path("results") / "traps",
    *,
    repeats: int | None = None,
    jobs: int | None = None,
    tell: Tell = lambda name, number, count: None,
    again: str | None = None,
) -> list[Verdicts]:
    """Run traps, each into a folder of its own; a second call does what is missing.

    Args:
        names: which ones; without, all.
        controllers: which ones; without, all.
        out: the folder of all.
        repeats: replaces those of the traps.
        jobs: runs at a time; without, as many as there are cores.
        tell: called before each trap.
        again: as for `study.runner.run`.

    Raises:
        UnknownTrap: there is no such trap, or no such controller.
        ResultsError: a results folder cannot be used.
        EngineError: a run failed.
    """
    chosen = [trap.load(name) for name in (names or trap.names())]
    held = list(known(controllers) or trap.controllers())
    found = []
    for number, one in enumerate(chosen, 1):
        tell(one.name, number, len(chosen))
        study = one.study(held, repeats)
        folder = atomic.enclosed(Path(out) / one.name, Path(out))
        results = run(study, out=folder, jobs=jobs, again=again)
        found.append(outcome.judge(one, results, held))
    return found


def known(controllers: Sequence[str]) -> Sequence[str]:
    """These controllers.

    Raises:
        UnknownTrap: there is no such one.
    """
    there = trap.controllers()
    for name in controllers:
        if name not in there:
            raise UnknownTrap(f"no controller {name!r}; there are {', '.join(there)}")
    return controllers
