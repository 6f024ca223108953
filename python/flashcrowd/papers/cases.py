"""Sentences about many cases: a verdict for each, one for all, and the counterexamples by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from flashcrowd.papers import verdict
from flashcrowd.papers.evidence import Given, StudyEvidence, Where
from flashcrowd.papers.verdict import Finding, Verdict
from flashcrowd.report.measures import Measure
from flashcrowd.report.points import Point
from flashcrowd.report.statistics import Estimate

#: What a judge says if no point of a study fits its parameters.
NOTHING = Finding(Verdict.NOT_RUN, "no point of the study fits")

#: More counterexamples than this are counted, not named.
_MOST_NAMED = 6


@dataclass(frozen=True)
class Case:
    """A number at a place.

    Attributes:
        at: the place in words, as in ``RTT 400 ms``.
        found: the number.
    """

    at: str
    found: Estimate


def changes(
    study: StudyEvidence,
    measure: Measure,
    where: Where,
    against: Where,
    *,
    relative: bool = True,
    described: Callable[[Point], str] = lambda point: point.label,
) -> list[Case]:
    """The change of each point of `where` against its own partner with the settings `against`."""
    cases = []
    for point in study.select(where):
        base = study.partner(point, against)
        if base is None or base.index == point.index:
            continue
        found = measure.change(point, base, relative=relative)
        if found is not None:
            cases.append(Case(described(point), found))
    return cases


def levels(study: StudyEvidence, measure: Measure, where: Where) -> list[Case]:
    """The number at each point of `where`."""
    found = ((point.label, measure.at(point)) for point in study.select(where))
    return [Case(label, estimate) for label, estimate in found if estimate is not None]


def conclude(
    cases: Sequence[Case],
    judge: Callable[[Estimate], Verdict],
    furthest: Callable[[Estimate], float],
    words: Callable[[Estimate], str],
    *,
    some: bool = False,
    combine: Callable[[Iterable[Verdict]], Verdict] = verdict.all_of,
) -> Finding:
    """One finding for all cases.

    Args:
        cases: the cases.
        judge: the verdict on one.
        furthest: the case with the largest value of this is named, the worst for the sentence.
        words: a number in words.
        some: whether one case is enough. Then the nearest one is named, and no other.
        combine: one verdict from many, if one is not enough.
    """
    if not cases:
        return NOTHING
    verdicts = [judge(case.found) for case in cases]
    named = (min if some else max)(cases, key=lambda case: furthest(case.found))
    text = f"{words(named.found)} at {named.at}"
    if len(cases) > 1:
        text += f", the {'nearest' if some else 'worst'} of {len(cases)} cases"
    if some:
        return Finding(verdict.any_of(verdicts), text, named.found.n)
    return Finding(combine(verdicts), text, named.found.n, _exceptions(cases, verdicts, words))


def _exceptions(
    cases: Sequence[Case], verdicts: Sequence[Verdict], words: Callable[[Estimate], str]
) -> str:
    """In how many cases the sentence holds, and those that broke it or left it open by name."""
    held = sum(one is Verdict.REPRODUCED for one in verdicts)
    if held == len(cases) or len(cases) < 2:
        return ""
    parts = [f"Holds in {held} of {len(cases)} cases."]
    for verdict_, what in ((Verdict.NOT_REPRODUCED, "Broken"), (Verdict.OPEN, "Open")):
        found = [c for c, v in zip(cases, verdicts, strict=True) if v is verdict_]
        if found:
            listed = "; ".join(f"{case.at}: {words(case.found)}" for case in found[:_MOST_NAMED])
            more = f"; and {len(found) - _MOST_NAMED} more" if len(found) > _MOST_NAMED else ""
            parts.append(f"{what} in {len(found)} of {len(cases)} cases: {listed}{more}.")
    return " ".join(parts)


def given_where(given: Given) -> Where:
    """The condition ``where`` of a claim; without one, all points."""
    where = given.get("where", {})
    return where if isinstance(where, Mapping) else {}
