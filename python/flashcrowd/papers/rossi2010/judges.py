"""Judges of this paper: numbers of stretches of runs, beside what the paper prints.

Most are those of :mod:`flashcrowd.papers.measured`, which says what `given` has; here also

steps     in place of `from_s` and `to_s`: stretches that a timeline makes, see :func:`_stretches`
"""

from __future__ import annotations

from itertools import pairwise

from flashcrowd.base.units import Rate
from flashcrowd.papers import steps, verdict
from flashcrowd.papers.cases import NOTHING, Case, conclude
from flashcrowd.papers.claim import Judge
from flashcrowd.papers.evidence import Evidence, Given
from flashcrowd.papers.measured import COMPARISONS, Measured, Stretch, minus
from flashcrowd.papers.rossi2010.quantities import measure
from flashcrowd.papers.rossi2010.words import described
from flashcrowd.papers.verdict import Finding, Verdict
from flashcrowd.report import wording
from flashcrowd.report.statistics import estimate


def cells(evidence: Evidence, given: Given) -> Finding:
    """A row of a table: each cell is no further than its tolerance from the printed one."""
    found, verdicts, texts = [], [], []
    for cell in given["cells"]:
        part = {**given, **cell}
        for case in MEASURED.levels(evidence, part):
            found.append(case)
            one = verdict.within(minus(case.found, float(cell["published"])), cell["tolerance"])
            verdicts.append(one)
            mark = "" if one is Verdict.REPRODUCED else f" ({one.value})"
            number = wording.mean(case.found)
            texts.append(f"{cell['name']} {number} for {cell['published']:g}{mark}")
    if not found:
        return NOTHING
    runs = min(case.found.n for case in found)
    text = f"{'; '.join(texts)}; {wording.runs(runs)}"
    return Finding(verdict.all_of(verdicts), text, runs)


def falls(evidence: Evidence, given: Given) -> Finding:
    """From each stretch to the next the measure falls (or does not rise by more than `bound`)."""
    found = []
    for (before, first), (after, second) in pairwise(_stretches(evidence, given)):
        changed = MEASURED.changed(evidence, second, first, relative=True)
        if changed is not None:
            found.append(Case(f"{after} after {before}", changed))
    name = MEASURED.first(evidence, given).name
    return conclude(
        found,
        lambda one: verdict.less_than(one, float(given.get("bound", 0.0))),
        lambda one: one.mean,
        lambda one: f"{name} {wording.per_cent(one)}",
    )


def accounts(evidence: Evidence, given: Given) -> Finding:
    """Of a loss in the measure from `alone` to `where`, `part` alone makes at least `bound`."""
    base, whole, part = (
        MEASURED.by_seed(evidence, {**given, "where": given[key]})
        for key in ("alone", "where", "part")
    )
    shares = [
        (base[seed] - part[seed]) / (base[seed] - whole[seed])
        for seed in base
        if seed in whole and seed in part and base[seed] != whole[seed]
    ]
    if not shares:
        return NOTHING
    found = estimate(shares)
    words = f"{wording.mean(found)} {wording.interval(found)}, {wording.runs(found.n)}"
    verdict_ = COMPARISONS[given["is"]](found, given["bound"])
    return Finding(verdict_, f"{given['called']} {words}", found.n)


def _stretches(evidence: Evidence, given: Given) -> list[Stretch]:
    """The stretches to look at, each with its name and `given` for it.

    `steps` has the `path` of what changed, the end of the run `end_s`, how many seconds to leave
    out at the beginning of each (`settle_s`), and the values to look at (`only`). A rate becomes
    the capacity `mbit` of the stretch; a delay of d ms becomes the round-trip time `rtt_s`.
    """
    if "steps" not in given:
        return [("", given)]
    about = given["steps"]
    found = []
    for step in steps.read(evidence[given["study"]], about["path"], float(about["end_s"])):
        value = str(step.value)
        if value not in about["only"]:
            continue
        begin = step.from_s + float(about.get("settle_s", 20.0))
        if step.to_s <= begin:
            continue
        more: dict[str, object] = {"from_s": begin, "to_s": step.to_s}
        if value.endswith("bit/s"):
            more["mbit"] = Rate(value).bps / 1e6
        elif value.endswith(" ms"):
            more["rtt_s"] = float(value.split()[0]) / 1e3
        found.append((value, {**given, **more}))
    return found


#: The judges of its measures.
MEASURED = Measured(measure, described, _stretches)

JUDGES: dict[str, Judge] = {
    name: MEASURED.with_more(judge)
    for name, judge in {
        "level": MEASURED.level,
        "near": MEASURED.near,
        "cells": cells,
        "compare": MEASURED.compare,
        "falls": falls,
        "accounts": accounts,
    }.items()
}
