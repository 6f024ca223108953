"""Judges that any paper can use: about changes of the mean download time, and about counts.

Parameters are those of the claim's ``given`` table. ``study`` names the study; ``where`` and
``against`` select points by their swept settings; ``bound`` is a share (0.15 for 15 %).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from flashcrowd.papers import verdict
from flashcrowd.papers.claim import Judge
from flashcrowd.papers.evidence import Evidence, StudyEvidence
from flashcrowd.papers.verdict import Finding, Verdict
from flashcrowd.report import wording
from flashcrowd.report.points import Point
from flashcrowd.report.statistics import Estimate

NOTHING = Finding(Verdict.NOT_RUN, "no point of the study fits")


def change_at_most(evidence: Evidence, given: Mapping[str, Any]) -> Finding:
    """At every point the mean download time is at most `bound` above that at `against`."""
    return _all_changes(evidence, given, lambda found: verdict.at_most(found, given["bound"]), max)


def change_more_than(evidence: Evidence, given: Mapping[str, Any]) -> Finding:
    """At every point the mean download time is more than `bound` above that at `against`."""
    return _all_changes(
        evidence, given, lambda found: verdict.more_than(found, given["bound"]), min
    )


def some_change_more_than(evidence: Evidence, given: Mapping[str, Any]) -> Finding:
    """At one point at least the mean download time is more than `bound` above `against`."""
    cases = list(_changes(evidence[given["study"]], given))
    if not cases:
        return NOTHING
    verdicts = [verdict.more_than(found, given["bound"]) for _, found in cases]
    point, found = max(cases, key=lambda case: case[1].mean)
    text = f"largest change {wording.per_cent(found)} at {point.label}"
    return Finding(verdict.any_of(verdicts), text, found.n)


def change_within(evidence: Evidence, given: Mapping[str, Any]) -> Finding:
    """At every point the mean download time differs from `against` by at most `bound`."""
    return _all_changes(
        evidence,
        given,
        lambda found: verdict.within(found, given["bound"]),
        lambda cases, key: max(cases, key=lambda case: abs(key(case))),
    )


def faster(evidence: Evidence, given: Mapping[str, Any]) -> Finding:
    """At every point of `where` downloads take less time than at `against`."""
    negative = dict(given, bound=0.0)
    return _all_changes(evidence, negative, _less, max, "against the slower one")


def not_testable(evidence: Evidence, given: Mapping[str, Any]) -> Finding:
    """A sentence about something that this program has not got."""
    del evidence
    return Finding(Verdict.NOT_TESTABLE, "–", 0, str(given["why"]))


def _less(found: Estimate) -> Verdict:
    if found.low is None or found.high is None:
        return Verdict.OPEN
    if found.high < 0:
        return Verdict.REPRODUCED
    return Verdict.NOT_REPRODUCED if found.low >= 0 else Verdict.OPEN


def _changes(study: StudyEvidence, given: Mapping[str, Any]) -> Iterable[tuple[Point, Estimate]]:
    """The change of each point of `where` against its own partner at `against`."""
    for point in study.select(given.get("where", {})):
        base = study.partner(point, given["against"])
        if base is None or base.index == point.index:
            continue
        found = study.change(point, base)
        if found is not None:
            yield point, found


def _all_changes(
    evidence: Evidence,
    given: Mapping[str, Any],
    judge: Callable[[Estimate], Verdict],
    worst: Callable,
    what: str = "",
) -> Finding:
    study = evidence[given["study"]]
    cases = list(_changes(study, given))
    if not cases:
        return NOTHING
    verdicts = {point.index: judge(found) for point, found in cases}
    point, found = worst(cases, key=lambda case: case[1].mean)
    text = f"{wording.per_cent(found)} at {point.label}"
    if what:
        text = f"{text} {what}"
    if len(cases) > 1:
        text += f", the furthest of {len(cases)} cases"
    broken = [(p, f) for p, f in cases if verdicts[p.index] is not Verdict.REPRODUCED]
    why = ""
    if broken and len(cases) > 1:
        listed = "; ".join(f"{p.label}: {wording.per_cent(f)}" for p, f in broken[:6])
        more = f"; and {len(broken) - 6} more" if len(broken) > 6 else ""
        why = f"Not shown in {len(broken)} of {len(cases)} cases: {listed}{more}."
    return Finding(verdict.all_of(verdicts.values()), text, found.n, why)


GENERIC: dict[str, Judge] = {
    "change-at-most": change_at_most,
    "change-more-than": change_more_than,
    "some-change-more-than": some_change_more_than,
    "change-within": change_within,
    "faster": faster,
    "not-testable": not_testable,
}
