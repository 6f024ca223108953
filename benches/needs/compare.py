"""What is predicted, over what was measured."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benches.needs import cases
from benches.needs import fit as fitting
from benches.needs.measure import LEAST_BYTES, LEAST_S

from flashcrowd import _core

PAGE = Path(__file__).with_name("README.md")
FACTOR = 1.5
COUNTS = ("packets", "events", "end_s")
"""What is the same on every machine."""
QUANTITIES = (*COUNTS, "seconds", "bytes")
Plans = Mapping[str, str]
Taken = Mapping[str, Mapping[str, Any]]
Ratios = dict[str, float]


def works(plans: Plans) -> dict[str, fitting.Work]:
    """What each run is expected to do."""
    return {name: _core.Plan(plan).work() for name, plan in plans.items()}


def fit(plans: Plans, taken: Taken) -> None:
    """Fits costs to all cases but the random ones of the table, and writes them into the crate."""
    names = [name for name in plans if cases.seed_of(name) not in cases.RANDOM]
    of = works(plans)
    seconds = [it if (it := taken[name]["seconds"]) >= LEAST_S else None for name in names]
    held = [it if (it := taken[name]["bytes"] or 0) >= LEAST_BYTES else None for name in names]
    costs = fitting.fit([of[name] for name in names], seconds, held)
    fitting.FITTED.write_text(costs.to_rust())
    print(f"wrote {fitting.FITTED.name}: build again to predict by it")


def ratios(plan: str, taken: Mapping[str, Any], costs: fitting.Costs) -> Ratios:
    """Predicted over measured, of what can be told of a run."""
    need, work = asdict(cases.need_of(plan)), _core.Plan(plan).work()
    found = {what: need[what] / taken[what] for what in COUNTS}
    if taken["seconds"] >= LEAST_S:
        found["seconds"] = costs.time(work) / taken["seconds"]
    held = taken["bytes"] or 0.0
    if held >= LEAST_BYTES or (held and costs.memory(work) >= 2 * LEAST_BYTES):
        found["bytes"] = costs.memory(work) / taken["bytes"]
    return found


def near(found: Iterable[Ratios], what: str) -> tuple[int, int]:
    """How many are within the factor, and of how many that is."""
    all_of = [it[what] for it in found if what in it]
    return sum(1 / FACTOR <= ratio <= FACTOR for ratio in all_of), len(all_of)


def write_table(plans: Plans, taken: Taken) -> None:
    """Writes the page."""
    costs = fitting.Costs.read()
    found = {name: ratios(plans[name], taken[name], costs) for name in plans}
    shipped = {name: it for name, it in found.items() if cases.seed_of(name) is None}
    drawn = {name: it for name, it in found.items() if cases.seed_of(name) in cases.RANDOM}
    studies: dict[str, list[Ratios]] = {}
    for name, it in shipped.items():
        studies.setdefault(name.rsplit(" ", 1)[0], []).append(it)
    for name, it in drawn.items():
        studies[name] = [it]
    lines = [
        HEAD,
        *_row("runs", ("packets", "events", "end", "processor time", "memory")),
        _cells("points of `studies/`", (_share(shipped.values(), it) for it in QUANTITIES)),
        _cells("random studies", (_share(drawn.values(), it) for it in QUANTITIES)),
        "",
        BETWEEN,
        *_row("study", ("packets", "events", "end", "processor time", "memory")),
        *(_cells(name, (_range(some, it) for it in QUANTITIES)) for name, some in studies.items()),
    ]
    PAGE.write_text("\n".join(lines) + "\n")


def _row(first: str, rest: tuple[str, ...]) -> list[str]:
    return [_cells(first, rest), "| --- " * (1 + len(rest)) + "|"]


def _cells(first: str, rest: Iterable[str]) -> str:
    return "| " + " | ".join([first, *rest]) + " |"


def _share(found: Iterable[Ratios], what: str) -> str:
    good, count = near(found, what)
    return f"{good} of {count}"


def _range(found: list[Ratios], what: str) -> str:
    some = sorted(f"{it[what]:.2f}" for it in found if what in it)
    if not some:
        return ""
    least, most = min(some, key=float), max(some, key=float)
    return least if least == most else f"{least} to {most}"


HEAD = f"""# What `check` predicts, compared with what runs take

Written by `make needs`, which runs all of it again: do not edit. The cases are at most
{cases.POINTS} points of each study in `studies/`, and {len(cases.RANDOM)} random studies
(`cases.py`, seeds {cases.RANDOM.start} to {cases.RANDOM.stop - 1}).
One run of each is compared, with seed 1.

How many predictions are within a factor of {FACTOR} of what the run took. Processor time counts if
it is at least {LEAST_S * 1000:.0f} ms, memory if it is at least {LEAST_BYTES / 1e6:.0f} MB.
"""
BETWEEN = """Predicted over measured: the least and the greatest of a study's points. Costs of
processor time and memory are fitted to the points of `studies/` and to other random studies.
"""
