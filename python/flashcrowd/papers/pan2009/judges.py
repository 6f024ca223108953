"""Judges of this paper: most are those of :mod:`flashcrowd.papers.measured`; here also

change    the measure at each point of `where` against that point with the settings `against`
between   the measure is at least `low` and at most `high` at every point
ranked    at every point of `lower` the measure is less than at any of `higher`, run by run
trend     rank correlation of the measure with the ratio of downlink and uplink, over the lines
spread    the range of the measure over the points of `where` against that of `against`
"""

from __future__ import annotations

from flashcrowd.papers import cases, verdict
from flashcrowd.papers.cases import NOTHING, Case, conclude
from flashcrowd.papers.claim import Judge
from flashcrowd.papers.evidence import Evidence, Where
from flashcrowd.papers.measured import COMPARISONS, Given, Measured, arithmetic, furthest, minus
from flashcrowd.papers.pan2009.quantities import measure, of_runs, rank_correlation
from flashcrowd.papers.pan2009.words import described
from flashcrowd.papers.verdict import Finding
from flashcrowd.report import wording
from flashcrowd.report.statistics import Estimate, difference, estimate
from flashcrowd.units import Rate

#: The judges of its measures.
MEASURED = Measured(measure, described)


def change(evidence: Evidence, given: Given) -> Finding:
    """The measure at each point of `where` against that point with the settings `against`.

    Parameters: `is`, `bound`; `relative` (default true); `any`, whether one such point is enough.
    """
    study = evidence[given["study"]]
    of, relative = measure(study, given), bool(given.get("relative", True))
    found = []
    for point in study.select(cases.given_where(given)):
        base = study.partner(point, given["against"])
        if base is None or base.index == point.index:
            continue
        changed = of.change(point, base, relative=relative)
        if changed is not None:
            found.append(Case(described(study, point), changed))
    called = given.get("called", of.name)

    def words(one: Estimate) -> str:
        number = (
            wording.per_cent(one) if relative else wording.with_interval(one, of.unit, sign=True)
        )
        return f"{called} {number}"

    some = bool(given.get("any"))
    far = furthest(given["is"])
    finding = conclude(
        found,
        lambda one: COMPARISONS[given["is"]](one, given["bound"]),
        (lambda one: -far(one)) if some else far,
        words,
        combine=verdict.any_of if some else verdict.all_of,
    )
    if some:
        return Finding(finding.verdict, finding.measured, finding.n)
    return finding


def between(evidence: Evidence, given: Given) -> Finding:
    """At every point of `where` the measure is at least `low` and at most `high`."""
    low, high = float(given["low"]), float(given["high"])
    middle, half = (low + high) / 2, (high - low) / 2

    return conclude(
        MEASURED.levels(evidence, given),
        lambda one: verdict.within(minus(one, middle), half),
        lambda one: abs(one.mean - middle),
        MEASURED.words(evidence, given),
    )


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
        {run: Rate(str(v)).bps for run, v in of_runs(study, f"{_ACCESS}.{way}").items()}
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


JUDGES: dict[str, Judge] = {
    name: MEASURED.with_more(judge)
    for name, judge in {
        "level": MEASURED.level,
        "near": MEASURED.near,
        "compare": MEASURED.compare,
        "change": change,
        "between": between,
        "ranked": ranked,
        "trend": trend,
        "spread": spread,
        "arithmetic": arithmetic,
    }.items()
}
