"""Judges of this paper: those of :mod:`flashcrowd.papers.measured`, whose settings are in words.

`where`, `against` and `than.where` say lines, loads, policies and sizes as the paper has them
(``{ line = "T3", load = 40, policy = "circus" }``), see :mod:`.words`. Here also

spread    the measure's range over the points of `where`, over its mean there, run by run
share     which part of its increase from `against` to `where` is there at `part` already
"""

from __future__ import annotations

from flashcrowd.papers import cases
from flashcrowd.papers.cases import NOTHING, Case, conclude
from flashcrowd.papers.circus2004.quantities import measure
from flashcrowd.papers.circus2004.words import described, exact
from flashcrowd.papers.claim import Judge
from flashcrowd.papers.evidence import Evidence, Given
from flashcrowd.papers.measured import COMPARISONS, Measured, furthest
from flashcrowd.papers.verdict import Finding
from flashcrowd.report import wording
from flashcrowd.report.statistics import estimate

#: The judges of its measures.
MEASURED = Measured(measure, described)


def spread(evidence: Evidence, given: Given) -> Finding:
    """The measure's range over the points of `where`, over its mean there, run by run."""
    study = evidence[given["study"]]
    of = measure(study, given)
    values: dict[int, list[float]] = {}
    for point in study.select(cases.given_where(given)):
        for seed, value in of.by_seed(point).items():
            values.setdefault(seed, []).append(value)
    ranges = [
        (max(each) - min(each)) * len(each) / sum(each) for each in values.values() if len(each) > 1
    ]
    if not ranges:
        return NOTHING
    found = estimate(ranges)
    text = f"{of.name}: a range of {wording.with_interval(found.scaled(100), '% of the mean')}"
    return Finding(COMPARISONS[given["is"]](found, given["bound"]), text, found.n)


def share(evidence: Evidence, given: Given) -> Finding:
    """Which part of the increase from `against` to `where` is there at `part` already.

    `against` and `part` replace settings of the points of `where`. Parameters: `is` and `bound`.
    """
    study = evidence[given["study"]]
    of = measure(study, given)
    found: list[Case] = []
    for point in study.select(cases.given_where(given)):
        base, part = (study.partner(point, given[key]) for key in ("against", "part"))
        if base is None or part is None:
            continue
        whole, some, none = (of.by_seed(it) for it in (point, part, base))
        shares = [
            (some[seed] - none[seed]) / (value - none[seed])
            for seed, value in whole.items()
            if seed in some and seed in none and value != none[seed]
        ]
        if shares:
            found.append(Case(described(study, point), estimate(shares)))
    return conclude(
        found,
        lambda one: COMPARISONS[given["is"]](one, given["bound"]),
        furthest(given["is"]),
        lambda one: f"{given['called']} {wording.with_interval(one.scaled(100), '%')}",
    )


def _written(evidence: Evidence, given: Given, study: str) -> Given:
    """`given` with the values that its words mean in its study."""
    study = given.get("study", study)
    found = dict(given)
    for key in ("where", "against", "part"):
        if key in given:
            found[key] = exact(evidence[study], given[key])
    for key in ("than", "literal"):
        if key in given:
            found[key] = _written(evidence, given[key], study)
    beside = [
        part for part in given.get("beside", ()) if part.get("study", study) in evidence.studies
    ]
    if beside:
        found["beside"] = [_written(evidence, part, study) for part in beside]
    return found


def _in_words(judge: Judge) -> Judge:
    return lambda evidence, given: judge(evidence, _written(evidence, given, given["study"]))


JUDGES: dict[str, Judge] = {
    name: _in_words(judge) for name, judge in MEASURED.judges(spread=spread, share=share).items()
}
