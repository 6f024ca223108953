"""Judges of this paper: most are those of :mod:`flashcrowd.papers.measured`; here also

ranked    at every point of `lower` the measure is less than at any of `higher`, run by run
trend     rank correlation of the measure with the ratio of downlink and uplink, over the lines
spread    the range of the measure over the points of `where` against that of `against`
mostly    as `change`, at more than half of the points of `where`
best      at each point of `where` the measure is at most `slack` below that with each of `others`
"""

from __future__ import annotations

from flashcrowd.base.units import Rate
from flashcrowd.papers import cases, verdict
from flashcrowd.papers.cases import NOTHING, Case, conclude
from flashcrowd.papers.claim import Judge
from flashcrowd.papers.evidence import Evidence, Given, Where
from flashcrowd.papers.measured import COMPARISONS, Measured, as_change
from flashcrowd.papers.pan2009.quantities import measure, rank_correlation
from flashcrowd.papers.pan2009.words import described, setting
from flashcrowd.papers.verdict import Finding
from flashcrowd.report import wording
from flashcrowd.report.statistics import difference, estimate

#: The judges of its measures.
MEASURED = Measured(measure, described)


def ranked(evidence: Evidence, given: Given) -> Finding:
    """In every run the measure at each point of `lower` is less than at any of `higher`.

    The deciding number is the largest of the lower ones less the smallest of the higher ones.
    """
    lower, higher = (_by_seed(evidence, given, given[key]) for key in ("lower", "higher"))
    gaps = [
        max(value for _, value in lower[seed]) - min(value for _, value in higher[seed])
        for seed in lower
        if seed in higher
    ]
    if not gaps:
        return NOTHING
    found = estimate(gaps)
    unit = MEASURED.first(evidence, given).unit
    text = f"{given['called']} {wording.with_interval(found, unit, sign=True)}"
    return Finding(verdict.less_than(found, 0.0), text, found.n)


def trend(evidence: Evidence, given: Given) -> Finding:
    """Rank correlation of the measure with downlink over uplink, over the points of `where`."""
    study = evidence[given["study"]]
    down, up = (
        {run: Rate(str(v)).bps for run, v in study.of_runs(f"{_ACCESS}.{way}").items()}
        for way in ("down", "up")
    )
    found = []
    for pairs in _by_seed(evidence, given, cases.given_where(given)).values():
        ratios, values = zip(*((down[run] / up[run], value) for run, value in pairs), strict=True)
        if len(set(ratios)) > 2:
            found.append(rank_correlation(ratios, values))
    if not found:
        return NOTHING
    mean = estimate(found).within(-1.0, 1.0)
    text = f"rank correlation {wording.with_interval(mean, '')}"
    return Finding(COMPARISONS[given["is"]](mean, given["bound"]), text, mean.n)


def spread(evidence: Evidence, given: Given) -> Finding:
    """By how much the measure's range over the points of `where` exceeds that of `against`."""
    ranges = []
    for where in (cases.given_where(given), given["against"]):
        of_seed = _by_seed(evidence, given, where)
        values = {seed: [value for _, value in pairs] for seed, pairs in of_seed.items()}
        ranges.append({seed: max(found) - min(found) for seed, found in values.items()})
    found = difference(*ranges)
    if found is None:
        return NOTHING
    unit = MEASURED.first(evidence, given).unit
    text = f"{given['called']} {wording.with_interval(found, unit, sign=True)}"
    return Finding(COMPARISONS[given["is"]](found, given["bound"]), text, found.n)


def mostly(evidence: Evidence, given: Given) -> Finding:
    """At more than half of the points of `where`, the change from `against` keeps the bound."""
    return MEASURED.change(evidence, given, verdict.most_of)


def best(evidence: Evidence, given: Given) -> Finding:
    """At each point of `where` the measure is at least that with each of `others`, less `slack`."""
    found = [
        Case(f"{case.at}, against {setting(other)}", case.found)
        for other in given["others"]
        for case in MEASURED.changes(evidence, {**given, "against": other}, relative=True)
    ]
    return conclude(
        found,
        lambda one: verdict.more_than(one, -float(given["slack"])),
        lambda one: -one.mean,
        as_change(MEASURED.first(evidence, given), given.get("called"), relative=True),
    )


_ACCESS = "network.groups.home.access"


def _by_seed(evidence: Evidence, given: Given, where: Where) -> dict[int, list[tuple[int, float]]]:
    """Run and measure of every run of some points, by seed."""
    study = evidence[given["study"]]
    of = measure(study, given).of_run
    found: dict[int, list[tuple[int, float]]] = {}
    for point in study.select(where):
        for run in point.good_runs:
            if run.run in of:
                found.setdefault(run.seed, []).append((run.run, of[run.run]))
    return found


JUDGES: dict[str, Judge] = MEASURED.judges(
    ranked=ranked, trend=trend, spread=spread, mostly=mostly, best=best
)
