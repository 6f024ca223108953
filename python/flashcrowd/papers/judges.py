"""Judges that any paper can use, about changes of the mean download time.

Parameters are those of the claim's ``given`` table. ``study`` names the study; ``where`` and
``against`` select points by their swept settings; ``bound`` is a share (0.15 for 15 %).
"""

from __future__ import annotations

import math

from flashcrowd.papers import cases, effects, verdict
from flashcrowd.papers.cases import Case, conclude
from flashcrowd.papers.claim import Judge
from flashcrowd.papers.evidence import Evidence, Given
from flashcrowd.papers.verdict import Finding, Verdict
from flashcrowd.report import wording


def change_at_most(evidence: Evidence, given: Given) -> Finding:
    """At every point the mean download time is at most `bound` above that at `against`."""
    return conclude(
        _changes(evidence, given),
        lambda found: verdict.at_most(found, given["bound"]),
        lambda found: found.mean,
        wording.per_cent,
    )


def change_more_than(evidence: Evidence, given: Given, *, some: bool = False) -> Finding:
    """At every point the mean download time is more than `bound` above that at `against`."""
    return conclude(
        _changes(evidence, given),
        lambda found: verdict.more_than(found, given["bound"]),
        lambda found: -found.mean,
        wording.per_cent,
        some=some,
    )


def some_change_more_than(evidence: Evidence, given: Given) -> Finding:
    """At one point at least the mean download time is more than `bound` above `against`."""
    return change_more_than(evidence, given, some=True)


def change_within(evidence: Evidence, given: Given) -> Finding:
    """At every point the mean download time differs from `against` by at most `bound`."""
    return conclude(
        _changes(evidence, given),
        lambda found: verdict.within(found, given["bound"]),
        lambda found: abs(found.mean),
        wording.per_cent,
    )


def faster(evidence: Evidence, given: Given, *, some: bool = False) -> Finding:
    """At every point of `where` downloads take less time than at `against`."""
    return conclude(
        _changes(evidence, given),
        lambda found: verdict.less_than(found, 0.0),
        lambda found: found.mean,
        wording.per_cent,
        some=some,
    )


def some_faster(evidence: Evidence, given: Given) -> Finding:
    """At one point of `where` at least downloads take less time than at `against`."""
    return faster(evidence, given, some=True)


def arithmetic(evidence: Evidence, given: Given) -> Finding:
    """Each of `numbers`, factors (`of`) divided by others (`over`), is as the paper has it.

    That is within `within`, a share, of `published`, or between `low` and `high`. The claim gives
    the factors, never the result.
    """
    del evidence
    unit, kept, shown = str(given.get("unit", "")), True, []
    for number in given["numbers"]:
        value = math.prod(number["of"]) / math.prod(number.get("over", (1,)))
        share, published = float(number.get("within", 0.0)), float(number.get("published", value))
        low = float(number.get("low", published * (1 - share)))
        high = float(number.get("high", published * (1 + share)))
        kept = kept and low <= value <= high
        shown.append(f"{value:.4g}")
    found = Verdict.REPRODUCED if kept else Verdict.NOT_REPRODUCED
    return Finding(found, f"{', '.join(shown)} {unit}".rstrip() + ", computed")


def not_testable(evidence: Evidence, given: Given) -> Finding:
    """A sentence about something that this program has not got."""
    del evidence
    return Finding(Verdict.NOT_TESTABLE, "–", 0, str(given["why"]))


def _changes(evidence: Evidence, given: Given) -> list[Case]:
    study = evidence[given["study"]]
    where = cases.given_where(given)
    return cases.changes(study, study.download_time, where, given["against"])


GENERIC: dict[str, Judge] = {
    "change-at-most": change_at_most,
    "change-more-than": change_more_than,
    "some-change-more-than": some_change_more_than,
    "change-within": change_within,
    "faster": faster,
    "some-faster": some_faster,
    "explains": effects.explains,
    "arithmetic": arithmetic,
    "not-testable": not_testable,
}
