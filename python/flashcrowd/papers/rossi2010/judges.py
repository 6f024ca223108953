"""Judges of this paper: numbers of stretches of runs, beside what the paper prints.

Every judge reads from `given`: `study`, `where` (points), `measure` with its own parameters, and

steps     in place of `from_s` and `to_s`: stretches that a timeline makes, see :func:`_stretches`
literal   what to replace in `given` for the constants that stand in the paper's text; the finding
          is that of the calibrated ones, and names the other beside it
beside    further numbers to print, each `given` with some parts replaced and `says` in words
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

from flashcrowd.papers import cases, steps, verdict
from flashcrowd.papers.cases import NOTHING, Case, conclude
from flashcrowd.papers.claim import Judge
from flashcrowd.papers.evidence import Evidence
from flashcrowd.papers.rossi2010.quantities import measure
from flashcrowd.papers.rossi2010.words import described
from flashcrowd.papers.verdict import Finding, Verdict
from flashcrowd.report import wording
from flashcrowd.report.measures import Measure
from flashcrowd.report.statistics import Estimate, difference, estimate
from flashcrowd.units import Rate

Given = Mapping[str, Any]

#: Ways to compare a number with a bound, by the name that claims use.
COMPARISONS: dict[str, Callable[[Estimate, float], Verdict]] = {
    "more-than": verdict.more_than,
    "less-than": verdict.less_than,
    "at-most": verdict.at_most,
    "within": verdict.within,
}


def level(evidence: Evidence, given: Given) -> Finding:
    """At every point and stretch the measure is on the right side of `bound`."""
    return conclude(
        _levels(evidence, given),
        lambda found: COMPARISONS[given["is"]](found, given["bound"]),
        _furthest(given["is"]),
        _words(evidence, given),
    )


def near(evidence: Evidence, given: Given) -> Finding:
    """The measure is no further than `tolerance` from the number that the paper prints."""
    published, tolerance = float(given["published"]), float(given["tolerance"])
    some = bool(given.get("any"))
    finding = conclude(
        _levels(evidence, given),
        lambda found: verdict.within(_minus(found, published), tolerance),
        lambda found: (-1 if some else 1) * abs(found.mean - published),
        _words(evidence, given),
        combine=verdict.any_of if some else verdict.all_of,
    )
    if some:
        measured = finding.measured.replace("the furthest of", "the nearest of")
        return Finding(finding.verdict, measured, finding.n)
    return finding


def cells(evidence: Evidence, given: Given) -> Finding:
    """A row of a table: each cell is no further than its tolerance from the printed one."""
    found, verdicts, texts = [], [], []
    for cell in given["cells"]:
        part = {**given, **cell}
        for case in _levels(evidence, part):
            found.append(case)
            one = verdict.within(_minus(case.found, float(cell["published"])), cell["tolerance"])
            verdicts.append(one)
            mark = "" if one is Verdict.REPRODUCED else f" ({one.value})"
            number = wording.mean(case.found)
            texts.append(f"{cell['name']} {number} for {cell['published']:g}{mark}")
    if not found:
        return NOTHING
    runs = min(case.found.n for case in found)
    text = f"{'; '.join(texts)}; {wording.runs(runs)}"
    return Finding(verdict.all_of(verdicts), text, runs)


def compare(evidence: Evidence, given: Given) -> Finding:
    """The measure against the same one with `than` in place, in pairs of runs with a seed.

    Parameters: `relative` (default true), `is` and `bound`.
    """
    relative = bool(given.get("relative", True))
    found = []
    for label, part in _stretches(evidence, given):
        changed = _changed(evidence, part, {**part, **given["than"]}, relative=relative)
        if changed is not None:
            found.append(Case(label or _label(evidence, part), changed))
    unit = _measure(evidence, given).unit

    def words(one: Estimate) -> str:
        number = wording.per_cent(one) if relative else wording.with_interval(one, unit, sign=True)
        return f"{given.get('called', _measure(evidence, given).name)} {number}"

    return conclude(
        found,
        lambda one: COMPARISONS[given["is"]](one, given["bound"]),
        _furthest(given["is"]),
        words,
    )


def falls(evidence: Evidence, given: Given) -> Finding:
    """From each stretch to the next the measure falls (or does not rise by more than `bound`)."""
    found = []
    for (before, first), (after, second) in pairwise(_stretches(evidence, given)):
        changed = _changed(evidence, second, first, relative=True)
        if changed is not None:
            found.append(Case(f"{after} after {before}", changed))
    return conclude(
        found,
        lambda one: verdict.less_than(one, float(given.get("bound", 0.0))),
        lambda one: one.mean,
        lambda one: f"{_measure(evidence, given).name} {wording.per_cent(one)}",
    )


def accounts(evidence: Evidence, given: Given) -> Finding:
    """Of a loss in the measure from `alone` to `where`, `part` alone makes at least `bound`."""
    base, whole, part = (
        _by_seed(evidence, {**given, "where": given[key]}) for key in ("alone", "where", "part")
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


def arithmetic(evidence: Evidence, given: Given) -> Finding:
    """A number that follows from others; `is` the result, `words` how."""
    del evidence
    same = abs(given["result"] - given["published"]) <= given["tolerance"]
    found = Verdict.REPRODUCED if same else Verdict.NOT_REPRODUCED
    return Finding(found, f"{given['result']:g} {given['unit']}, computed: {given['words']}")


def _with_more(judge: Judge) -> Judge:
    """The judge, with the numbers for the text's own constants and those of `beside`."""

    def judged(evidence: Evidence, given: Given) -> Finding:
        finding = judge(evidence, given)
        if "literal" in given:
            other = judge(evidence, {**given, **given["literal"]})
            finding = finding.because(
                f"With the constants of the text: {other.measured} ({other.verdict.value})."
            )
        for more in given.get("beside", ()):
            finding = finding.because(_beside(evidence, {**given, **more}))
        return finding

    return judged


def _beside(evidence: Evidence, given: Given) -> str:
    """A number in a sentence, or nothing if its study was not run."""
    if given["study"] not in evidence.studies:
        return ""
    numbers = [
        f"{wording.with_interval(case.found, _measure(evidence, given).unit)}"
        + (f" at {case.at}" if len(found) > 1 else "")
        for found in [_levels(evidence, given)]
        for case in found
    ]
    return f"{_capital(given['says'])}: {'; '.join(numbers)}." if numbers else ""


def _capital(text: str) -> str:
    """The text with a capital at its beginning, but for the Greek names of the flavours."""
    return wording.sentence(text) if text[:1].isascii() else text


def _levels(evidence: Evidence, given: Given) -> list[Case]:
    study = evidence[given["study"]]
    points = study.select(cases.given_where(given))
    found = []
    for label, part in _stretches(evidence, given):
        of = measure(study, part)
        for point in points:
            number = of.at(point)
            if number is not None:
                words = described(study, point)
                at = (
                    label if label and len(points) == 1 else ", ".join(filter(None, (words, label)))
                )
                found.append(Case(at, number))
    return found


def _stretches(evidence: Evidence, given: Given) -> list[tuple[str, Given]]:
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
        more: dict[str, Any] = {"from_s": begin, "to_s": step.to_s}
        if value.endswith("bit/s"):
            more["mbit"] = Rate(value).bps / 1e6
        elif value.endswith(" ms"):
            more["rtt_s"] = float(value.split()[0]) / 1e3
        found.append((value, {**given, **more}))
    return found


def _changed(evidence: Evidence, given: Given, base: Given, *, relative: bool) -> Estimate | None:
    """The measure of `given` against that of `base`, which may be of another study."""
    values, bases = (_by_seed(evidence, each) for each in (given, base))
    return difference(values, bases, relative=relative) if values and bases else None


def _by_seed(evidence: Evidence, given: Given) -> dict[int, float]:
    study = evidence[given["study"]]
    of = measure(study, given)
    points = study.select(cases.given_where(given))
    runs = [run for point in points for run in point.good_runs if run.run in of.of_run]
    return {run.seed: of.of_run[run.run] for run in runs}


def _measure(evidence: Evidence, given: Given) -> Measure:
    """The measure of the first stretch, for its name and unit."""
    return measure(evidence[given["study"]], _stretches(evidence, given)[0][1])


def _label(evidence: Evidence, given: Given) -> str:
    points = evidence[given["study"]].select(cases.given_where(given))
    return described(evidence[given["study"]], points[0]) if points else ""


def _words(evidence: Evidence, given: Given) -> Callable[[Estimate], str]:
    of = _measure(evidence, given)
    called = given.get("called", of.name)
    return lambda found: f"{called} {wording.with_interval(found, of.unit)}"


def _minus(found: Estimate, value: float) -> Estimate:
    low, high = found.low, found.high
    return Estimate(
        found.mean - value,
        None if low is None else low - value,
        None if high is None else high - value,
        found.n,
        found.minimum - value,
        found.maximum - value,
    )


def _furthest(comparison: str) -> Callable[[Estimate], float]:
    if comparison == "within":
        return lambda found: abs(found.mean)
    return lambda found: -found.mean if comparison == "more-than" else found.mean


JUDGES: dict[str, Judge] = {
    name: _with_more(judge)
    for name, judge in {
        "level": level,
        "near": near,
        "cells": cells,
        "compare": compare,
        "falls": falls,
        "accounts": accounts,
        "arithmetic": arithmetic,
    }.items()
}
