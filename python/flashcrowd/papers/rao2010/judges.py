"""Judges that only this paper needs."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations, pairwise

from flashcrowd.papers import cases, effects, verdict
from flashcrowd.papers.cases import NOTHING, Case, conclude
from flashcrowd.papers.claim import Judge
from flashcrowd.papers.evidence import Evidence, Given, StudyEvidence
from flashcrowd.papers.measured import as_change, minus
from flashcrowd.papers.rao2010 import iplane, quantities
from flashcrowd.papers.verdict import Finding, Verdict
from flashcrowd.report import wording
from flashcrowd.report.measures import Measure
from flashcrowd.report.points import Point
from flashcrowd.report.statistics import Estimate, difference, estimate

#: The per-run number that each judge below speaks of, by the name that claims use.
MEASURES: dict[str, Callable[[StudyEvidence], Measure]] = {
    "abrupt": quantities.abrupt,
    "median-gap": quantities.median_gap,
    "payload-above-mtu": quantities.payload_above,
    "largest-payload": quantities.largest_payload,
    "one-write": quantities.payloads_like_writes,
    "rtt-estimate": quantities.rtt_estimate,
    "seed-idle": quantities.seed_idle,
    "repeats": quantities.repeats,
    "transfer-time": quantities.transfer_time,
    "window-reduced": quantities.window_reduced,
    "window-regained": quantities.window_regained,
}

#: Ways to compare a level with a bound, by the name that claims use.
COMPARISONS: dict[str, Callable[[Estimate, float], Verdict]] = {
    "more-than": verdict.more_than,
    "less-than": verdict.less_than,
    "at-most": verdict.at_most,
    "every-run-more-than": verdict.every_run_more_than,
    "every-run-at-most": verdict.every_run_at_most,
}

_LIMITS = ("10 KiB/s", "20 KiB/s", "50 KiB/s", "100 KiB/s")


def level(evidence: Evidence, given: Given) -> Finding:
    """At every point `measure` is on the right side of `bound`, in its own unit."""
    study = evidence[given["study"]]
    return _level(study, MEASURES[given["measure"]](study), given, given["is"])


def gaps_around(evidence: Evidence, given: Given) -> Finding:
    """More than `bound` per cent of the sends come more than `limit_ms` after the last one.

    And as many come sooner, or else a longer round-trip time would need no ramp-up either.
    """
    study = evidence[given["study"]]
    measure = quantities.gaps_above(study, float(given["limit_ms"]))
    return _near(study, measure, given, 50.0, 50.0 - given["bound"])


def rises(evidence: Evidence, given: Given) -> Finding:
    """`measure` is larger at each point of `where` than at its partner at `against`."""
    study = evidence[given["study"]]
    measure = MEASURES[given["measure"]](study)
    where, against = cases.given_where(given), given["against"]
    return conclude(
        cases.changes(study, measure, where, against, relative=False),
        lambda found: verdict.more_than(found, 0.0),
        lambda found: -found.mean,
        as_change(measure),
    )


def estimate_flat(evidence: Evidence, given: Given) -> Finding:
    """The number of leechers changes TCP's estimate by at most `bound`, at each RTT."""
    study = evidence[given["study"]]
    measure = quantities.rtt_estimate(study)
    return conclude(
        cases.changes(study, measure, cases.given_where(given), given["against"]),
        lambda found: verdict.within(found, given["bound"]),
        lambda found: abs(found.mean),
        wording.per_cent,
    )


def gaps_ordered(evidence: Evidence, given: Given) -> Finding:
    """The median time between sends is longer at each upload limit than at the next higher one."""
    study = evidence[given["study"]]
    measure = quantities.median_gap(study)
    found = []
    for slow, fast in pairwise(_LIMITS):
        here = {**given["where"], "seed.upload": slow, "leechers.upload": slow}
        next_ = {"seed.upload": fast, "leechers.upload": fast}
        found += cases.changes(study, measure, here, next_, relative=False)
    return conclude(
        found,
        lambda one: verdict.more_than(one, 0.0),
        lambda one: -one.mean,
        lambda one: f"{as_change(measure)(one)} over the next higher limit,",
    )


def systems_bounded(evidence: Evidence, given: Given) -> Finding:
    """Systems with shorter paths inside are at most `bound` slower than the homogeneous swarm."""
    study = evidence[given["study"]]
    found = []
    for point in study.points.points:
        inside = str(study.value(point, "second.devices.loopback"))
        between = str(study.value(point, "second.devices.ethernet"))
        if inside == between:
            continue
        same = {"second.devices.loopback": between, "second.devices.ethernet": between}
        base = study.partner(point, same)
        change = None if base is None else study.download_time.change(point, base)
        if change is not None:
            found.append(Case(point.label, change))
    return conclude(
        found,
        lambda one: verdict.at_most(one, given["bound"]),
        lambda one: one.mean,
        lambda one: f"{wording.per_cent(one)} against the homogeneous case",
    )


def not_monotonic(evidence: Evidence, given: Given) -> Finding:
    """Download time falls somewhere although the round-trip time rises."""
    study = evidence[given["study"]]
    found = []
    for earlier, later in combinations(study.select(given["where"]), 2):
        change = study.download_time.change(later, earlier)
        if change is not None:
            found.append(Case(f"{later.label} against {_rtt(study, earlier)}", change))
    return conclude(
        found,
        lambda one: verdict.less_than(one, 0.0),
        lambda one: one.mean,
        wording.per_cent,
        some=True,
    )


def pieces_behind(evidence: Evidence, given: Given) -> Finding:
    """Half way through, the leechers at `slow` have fewer pieces than those at `fast`."""
    study = evidence[given["study"]]
    slow = study.one({**given["where"], **given["slow"]})
    fast = study.one({**given["where"], **given["fast"]})
    time = None if fast is None else study.download_time.at(fast)
    if slow is None or fast is None or time is None:
        return NOTHING
    half_s = time.mean / 2
    measure = quantities.pieces_at(study, quantities.piece_count(study), half_s)
    found = measure.change(fast, slow, relative=False)
    if found is None:
        return NOTHING
    number = wording.with_interval(found, "pieces", sign=True)
    text = f"{number} at {fast.label} over {_rtt(study, slow)}, after {half_s:.0f} s"
    return Finding(verdict.more_than(found, 0.0), text, found.n)


def curves_alike(evidence: Evidence, given: Given) -> Finding:
    """Over the download, the pieces at a leecher differ from those at `against` by at most `bound`.

    That is the mean over time of the distance of both curves, as a share of the file.
    """
    study = evidence[given["study"]]
    pieces = quantities.piece_count(study)
    lines = quantities.progress(study, pieces)
    found = []
    for point in study.select(cases.given_where(given)):
        base = study.partner(point, given["against"])
        bases = {run.seed: lines.get(run.run) for run in base.good_runs} if base else {}
        distances = [
            quantities.distance(lines[run.run], other) / pieces
            for run in point.good_runs
            if run.run in lines and (other := bases.get(run.seed)) is not None
        ]
        if distances:
            found.append(Case(point.label, estimate(distances)))
    return conclude(
        found,
        lambda one: verdict.at_most(one, given["bound"]),
        lambda one: one.mean,
        lambda one: f"curves {wording.with_interval(one.scaled(100), '% of the file')} apart",
    )


def ramp_up_costs_more(evidence: Evidence, given: Given) -> Finding:
    """What the ramp-up explains of a round-trip time's cost is larger at `fast` than at `slow`.

    Parameters: `fast` and `slow`, settings of the upload limit; `rtt` and `base`, those of the
    round-trip time; `with_ramp_up` and `without`, those of the variants.
    """
    study = evidence[given["study"]]

    def explained(limit: Given) -> effects.Effect:
        about = {"where": limit, "slow": given["rtt"], "fast": given["base"]}
        both = [effects.effect(study, about, given[it]) for it in ("with_ramp_up", "without")]
        return {seed: value - both[1][seed] for seed, value in both[0].items() if seed in both[1]}

    slow, fast = explained(given["slow"]), explained(given["fast"])
    more = difference(fast, slow) if slow and fast else None
    low, high = (difference(it, dict.fromkeys(it, 0.0)) for it in (slow, fast))
    if more is None or low is None or high is None:
        return NOTHING
    text = f"{wording.per_cent(high)} at the high limit; {wording.per_cent(low)} at the low one"
    return Finding(verdict.more_than(more, 0.0), text, more.n)


def fraction_below(evidence: Evidence, given: Given) -> Finding:
    """A measurement by others; our distribution, at least, must agree with it."""
    del evidence
    fraction = iplane.fraction_below(given["what"], float(given["value"]))
    text = f"{100 * fraction:.1f} % in the distribution that ships"
    if abs(fraction - given["fraction"]) > 0.0005:
        why = "The distribution that ships misses the number it was to be fitted to."
        return Finding(Verdict.NOT_REPRODUCED, text, 0, why)
    why = "Others measured this. Our distribution was fitted to it and cannot confirm it."
    return Finding(Verdict.NOT_TESTABLE, text, 0, why)


def _level(study: StudyEvidence, measure: Measure, given: Given, comparison: str) -> Finding:
    upwards = comparison.endswith("at-most") or comparison == "less-than"
    return conclude(
        cases.levels(study, measure, cases.given_where(given)),
        lambda found: COMPARISONS[comparison](found, given["bound"]),
        lambda found: found.mean if upwards else -found.mean,
        lambda found: f"{measure.name} {wording.with_interval(found, measure.unit)}",
    )


def _near(
    study: StudyEvidence,
    measure: Measure,
    given: Given,
    value: float,
    tolerance: float,
) -> Finding:
    return conclude(
        cases.levels(study, measure, cases.given_where(given)),
        lambda found: verdict.within(minus(found, value), tolerance),
        lambda found: abs(found.mean - value),
        lambda found: f"{measure.name} {wording.with_interval(found, measure.unit)}",
    )


def _rtt(study: StudyEvidence, point: Point) -> str:
    return f"{study.axis('rtt').name} {study.value(point, 'rtt')}"


JUDGES: dict[str, Judge] = {
    "level": level,
    "gaps-around": gaps_around,
    "curves-alike": curves_alike,
    "ramp-up-costs-more": ramp_up_costs_more,
    "rises": rises,
    "estimate-flat": estimate_flat,
    "gaps-ordered": gaps_ordered,
    "systems-bounded": systems_bounded,
    "not-monotonic": not_monotonic,
    "pieces-behind": pieces_behind,
    "fraction-below": fraction_below,
}
