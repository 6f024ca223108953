"""Judges that only this paper needs."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from flashcrowd.papers import verdict
from flashcrowd.papers.claim import Judge
from flashcrowd.papers.evidence import Evidence, StudyEvidence
from flashcrowd.papers.judges import NOTHING
from flashcrowd.papers.rao2010 import iplane, quantities
from flashcrowd.papers.verdict import Finding, Verdict
from flashcrowd.report import wording
from flashcrowd.report.measures import Measure
from flashcrowd.report.points import Point
from flashcrowd.report.statistics import Estimate, difference

#: The per-run number that each judge below speaks of, by the name that claims use.
MEASURES = {
    "abrupt": quantities.abrupt,
    "median-gap": quantities.median_gap,
    "payload-above-mtu": quantities.payload_above,
    "largest-payload": quantities.largest_payload,
    "one-write": quantities.payloads_like_writes,
    "rtt-estimate": quantities.rtt_estimate,
    "retransmitted": quantities.retransmitted,
}


def level_more_than(evidence: Evidence, given: Mapping[str, Any]) -> Finding:
    """At every point a number is more than `bound`, in its own unit."""
    return _levels(evidence, given, verdict.more_than, min)


def level_at_most(evidence: Evidence, given: Mapping[str, Any]) -> Finding:
    """At every point a number is at most `bound`, in its own unit."""
    return _levels(evidence, given, verdict.at_most, max)


def rises(evidence: Evidence, given: Mapping[str, Any]) -> Finding:
    """A number is larger at each point of `where` than at its partner at `against`."""
    study = evidence[given["study"]]
    measure = _measure(study, given)
    cases = []
    for point in study.select(given.get("where", {})):
        base = study.partner(point, given["against"])
        if base is None or base.index == point.index:
            continue
        found = measure.change(point, base, relative=False)
        if found is not None:
            cases.append((point, found))
    if not cases:
        return NOTHING
    verdicts = [verdict.more_than(found, given.get("bound", 0.0)) for _, found in cases]
    point, found = min(cases, key=lambda case: case[1].mean)
    text = (
        f"{measure.name} differs by {wording.with_interval(found, measure.unit, sign=True)} "
        f"at {point.label}"
    )
    return Finding(verdict.all_of(verdicts), _of(text, len(cases)), found.n)


def gaps_above(evidence: Evidence, given: Mapping[str, Any]) -> Finding:
    """A share of more than `bound` of the sends comes more than `limit_ms` after the last one."""
    study = evidence[given["study"]]
    measure = quantities.gaps_above(study, float(given["limit_ms"]))
    return _levels_of(study, measure, given, verdict.more_than, min)


def estimate_flat(evidence: Evidence, given: Mapping[str, Any]) -> Finding:
    """The number of leechers changes TCP's estimate by at most `bound`, at each RTT."""
    study = evidence[given["study"]]
    measure = quantities.rtt_estimate(study)
    cases = []
    for point in study.select(given.get("where", {})):
        base = study.partner(point, given["against"])
        if base is None or base.index == point.index:
            continue
        found = measure.change(point, base)
        if found is not None:
            cases.append((point, found))
    if not cases:
        return NOTHING
    verdicts = [verdict.within(found, given["bound"]) for _, found in cases]
    point, found = max(cases, key=lambda case: abs(case[1].mean))
    return Finding(
        verdict.all_of(verdicts), _of(f"{wording.per_cent(found)} at {point.label}", len(cases)),
        found.n,
    )  # fmt: skip


def gaps_ordered(evidence: Evidence, given: Mapping[str, Any]) -> Finding:
    """The median time between sends is longer at each upload limit than at the next higher one."""
    study = evidence[given["study"]]
    measure = quantities.median_gap(study)
    cases = []
    for slow, fast in pairwise(("10 KiB/s", "20 KiB/s", "50 KiB/s", "100 KiB/s")):
        here = {**given["where"], "seed.upload": slow, "leechers.upload": slow}
        for point in study.select(here):
            base = study.partner(point, {"seed.upload": fast, "leechers.upload": fast})
            found = None if base is None else measure.change(point, base, relative=False)
            if found is not None:
                cases.append((point, found))
    if not cases:
        return NOTHING
    verdicts = [verdict.more_than(found, 0.0) for _, found in cases]
    point, found = min(cases, key=lambda case: case[1].mean)
    text = (
        f"median {wording.with_interval(found, 'ms', sign=True)} at {point.label} "
        "over the next higher limit"
    )
    return Finding(verdict.all_of(verdicts), _of(text, len(cases)), found.n)


def systems_bounded(evidence: Evidence, given: Mapping[str, Any]) -> Finding:
    """Systems with shorter paths inside are at most `bound` slower than the homogeneous swarm."""
    study = evidence[given["study"]]
    cases = []
    for point in study.points.points:
        inside = str(study.value(point, "second.devices.loopback"))
        between = str(study.value(point, "second.devices.ethernet"))
        if inside == between:
            continue
        same = {"second.devices.loopback": between, "second.devices.ethernet": between}
        base = study.partner(point, same)
        found = None if base is None else study.change(point, base)
        if found is not None:
            cases.append((point, found))
    if not cases:
        return NOTHING
    verdicts = [verdict.at_most(found, given["bound"]) for _, found in cases]
    point, found = max(cases, key=lambda case: case[1].mean)
    text = f"{wording.per_cent(found)} against the homogeneous case at {point.label}"
    return Finding(verdict.all_of(verdicts), _of(text, len(cases)), found.n)


def explains(evidence: Evidence, given: Mapping[str, Any]) -> Finding:
    """Without a rule, at least half of a difference in download time is gone.

    The difference is that between `slow` and `fast`, relative to `fast`; `as_is` and `without`
    name the variants with and without the rule.
    """
    study = evidence[given["study"]]
    effects: list[dict[int, float]] = []
    for variant in (given["as_is"], given["without"]):
        slow = study.one({**given.get("where", {}), **variant, **given["slow"]})
        fast = study.one({**given.get("where", {}), **variant, **given["fast"]})
        if slow is None or fast is None:
            return NOTHING
        effects.append(_relative(study, slow, fast))
    whole, rest = effects
    effect = difference(whole, dict.fromkeys(whole, 0.0))
    left = difference(rest, dict.fromkeys(rest, 0.0))
    if effect is None or left is None:
        return NOTHING
    text = f"{wording.per_cent(effect)} with it, {wording.per_cent(left)} without"
    if verdict.more_than(effect, 0.0) is Verdict.NOT_REPRODUCED:
        why = "There is no such difference to explain."
        return Finding(Verdict.NOT_REPRODUCED, text, effect.n, why)
    gone = difference({seed: value / 2 for seed, value in whole.items()}, rest)
    found = Verdict.OPEN if gone is None else verdict.more_than(gone, 0.0)
    if verdict.more_than(effect, 0.0) is Verdict.OPEN:
        found = Verdict.OPEN
    return Finding(found, text, effect.n)


def pieces_behind(evidence: Evidence, given: Mapping[str, Any]) -> Finding:
    """Half way through, the leechers at `slow` have fewer pieces than those at `fast`."""
    study = evidence[given["study"]]
    slow = study.one({**given["where"], **given["slow"]})
    fast = study.one({**given["where"], **given["fast"]})
    if slow is None or fast is None:
        return NOTHING
    time = study.download_time.at(fast)
    if time is None:
        return NOTHING
    measure = quantities.pieces_at(study, quantities.piece_count(study), time.mean / 2)
    found = measure.change(fast, slow, relative=False)
    if found is None:
        return NOTHING
    text = (
        f"{wording.with_interval(found, 'pieces', sign=True)} at {fast.label} "
        f"over {slow.label} after {time.mean / 2:.0f} s"
    )
    return Finding(verdict.more_than(found, 0.0), text, found.n)


def not_monotonic(evidence: Evidence, given: Mapping[str, Any]) -> Finding:
    """Download time falls somewhere although the round-trip time rises."""
    study = evidence[given["study"]]
    points = study.select(given["where"])
    cases = []
    for number, later in enumerate(points):
        for earlier in points[:number]:
            found = study.change(later, earlier)
            if found is not None:
                cases.append((later, earlier, found))
    if not cases:
        return NOTHING
    verdicts = [
        verdict.more_than(_negated(found), 0.0) for _, _, found in cases
    ]  # fmt: skip
    later, earlier, found = min(cases, key=lambda case: case[2].mean)
    text = f"largest fall {wording.per_cent(found)} from {earlier.label} to {later.label}"
    return Finding(verdict.any_of(verdicts), text, found.n)


def fraction_below(evidence: Evidence, given: Mapping[str, Any]) -> Finding:
    """A measurement by others; our distribution, at least, must agree with it."""
    del evidence
    fraction = iplane.fraction_below(given["what"], float(given["value"]))
    text = f"{100 * fraction:.1f} % in the distribution that ships"
    if abs(fraction - given["fraction"]) > 0.0005:
        why = "The distribution that ships misses the number it was to be fitted to."
        return Finding(Verdict.NOT_REPRODUCED, text, 0, why)
    why = "Others measured this. Our distribution was fitted to it and cannot confirm it."
    return Finding(Verdict.NOT_TESTABLE, text, 0, why)


def arithmetic(evidence: Evidence, given: Mapping[str, Any]) -> Finding:
    """A rate times a round-trip time fills a number of frames."""
    del evidence
    frames = given["rate"] * given["rtt_s"] / given["frame"]
    same = abs(frames - given["frames"]) <= 0.05 * given["frames"]
    text = f"{frames:.0f} frames, computed"
    return Finding(Verdict.REPRODUCED if same else Verdict.NOT_REPRODUCED, text)


def _levels(evidence: Evidence, given: Mapping[str, Any], judge: Any, worst: Any) -> Finding:
    study = evidence[given["study"]]
    return _levels_of(study, _measure(study, given), given, judge, worst)


def _levels_of(
    study: StudyEvidence, measure: Measure, given: Mapping[str, Any], judge: Any, worst: Any
) -> Finding:
    cases: list[tuple[Point, Estimate]] = []
    for point in study.select(given.get("where", {})):
        found = measure.at(point)
        if found is not None:
            cases.append((point, found))
    if not cases:
        return NOTHING
    verdicts = [judge(found, given["bound"]) for _, found in cases]
    point, found = worst(cases, key=lambda case: case[1].mean)
    text = f"{measure.name}: {wording.with_interval(found, measure.unit)} at {point.label}"
    return Finding(verdict.all_of(verdicts), _of(text, len(cases)), found.n)


def _measure(study: StudyEvidence, given: Mapping[str, Any]) -> Measure:
    return MEASURES[given["measure"]](study)


def _relative(study: StudyEvidence, slow: Point, fast: Point) -> dict[int, float]:
    times = study.download_time.of_run
    base = {run.seed: times[run.run] for run in fast.good_runs if run.run in times}
    return {
        run.seed: times[run.run] / base[run.seed] - 1
        for run in slow.good_runs
        if run.run in times and run.seed in base
    }


def _negated(found: Estimate) -> Estimate:
    low = None if found.high is None else -found.high
    high = None if found.low is None else -found.low
    return Estimate(-found.mean, low, high, found.n, -found.maximum, -found.minimum)


def _of(text: str, cases: int) -> str:
    return f"{text}, the furthest of {cases} cases" if cases > 1 else text


JUDGES: dict[str, Judge] = {
    "level-more-than": level_more_than,
    "level-at-most": level_at_most,
    "rises": rises,
    "gaps-above": gaps_above,
    "estimate-flat": estimate_flat,
    "gaps-ordered": gaps_ordered,
    "systems-bounded": systems_bounded,
    "explains": explains,
    "pieces-behind": pieces_behind,
    "not-monotonic": not_monotonic,
    "fraction-below": fraction_below,
    "arithmetic": arithmetic,
}
