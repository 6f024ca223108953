"""Judges of this paper: those of :mod:`flashcrowd.papers.measured`, whose settings are in words.

`where`, `against` and `than.where` say lines, loads, policies and sizes as the paper has them
(``{ line = "T3", load = 40, policy = "circus" }``), see :mod:`.words`. Here also

spread    the measure's range over the points of `where`, over its mean there, run by run
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flashcrowd.papers import cases
from flashcrowd.papers.cases import NOTHING
from flashcrowd.papers.circus2004.quantities import measure
from flashcrowd.papers.circus2004.words import described, exact
from flashcrowd.papers.claim import Judge
from flashcrowd.papers.evidence import Evidence
from flashcrowd.papers.measured import COMPARISONS, Given, Measured
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


def _written(evidence: Evidence, given: Given, study: str) -> Mapping[str, Any]:
    """`given` with the values that its words mean in its study."""
    study = given.get("study", study)
    found = dict(given)
    for key in ("where", "against"):
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
    name: _in_words(judge) for name, judge in MEASURED.judges(spread=spread).items()
}
