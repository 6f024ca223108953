"""The answer of a study in at most three sentences.

The condition comes first, then the levels from best to worst, then the numbers. What is sure of
them, and of how many runs, comes last and once.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from flashcrowd.report import lacking, wording
from flashcrowd.report.clause_words import MOST_WORDS, every, words
from flashcrowd.report.clauses import Clause, clauses, subject
from flashcrowd.report.compared import Compared
from flashcrowd.report.expectations import Judged, overall
from flashcrowd.report.finding import Finding
from flashcrowd.report.headline import Headline
from flashcrowd.report.measure import Measure
from flashcrowd.report.points import Points
from flashcrowd.report.statistics import Estimate
from flashcrowd.report.too_few import too_few

#: Sentences of an answer; what is missing of the numbers comes behind them.
_MOST = 3

#: Measures of which a study with a single point names its numbers.
_MOST_NUMBERS = 3

#: Words that a question begins with to which "yes" is an answer.
_YES_OR_NO = frozenset(
    {"are", "can", "could", "did", "do", "does", "has", "have", "is", "may", "must", "should"}
    | {"was", "were", "will", "would"}
)

_VERDICTS = {"kept": "yes", "broken": "no", "undecided": "not decided"}


def sentences(
    headline: Headline,
    points: Points,
    judged: Sequence[Judged] = (),
    provenance: Mapping[str, Any] | None = None,
) -> list[str]:
    """What a study answers, and what of it is missing.

    Args:
        headline: the measures that decide, and with what points are compared.
        points: the points of the study.
        judged: what came of its expectations, which decide a question with yes or no.
        provenance: that of its results, which knows how long runs take.
    """
    compared = Compared.of(headline)
    if compared is None:
        found = list(_alone(headline.measures, points))
    else:
        found = _compared(headline.measures, compared, provenance or {})
    verdict = _decided(headline.question, judged)
    if found and verdict:
        found[0] = f"{verdict}{found[0][:1].lower()}{found[0][1:]}"
    for measure in headline.measures:
        found += lacking.sentences(measure, points)
    return found


def _decided(question: str, judged: Sequence[Judged]) -> str:
    """The verdict of the expectations on a question, to stand before the first sentence."""
    first = question.partition(" ")[0].lower()
    if not judged or not question.endswith("?") or first not in _YES_OR_NO:
        return ""
    return f"{wording.sentence(_VERDICTS[overall(judged)])}: "


def _alone(measures: Sequence[Measure], points: Points) -> Iterator[str]:
    """The numbers of the only point."""
    (point,) = points.points[:1] or (None,)
    known = [(m, found) for m in measures if point and (found := m.at(point)) is not None]
    known = known[:_MOST_NUMBERS]
    if not known:
        return
    said = [f"{subject(m)} is {wording.level(found.mean, m.unit)}" for m, found in known]
    spread = [_relative(found, found.mean) for _, found in known]
    counts = [found.n for _, found in known]
    doubt = _doubt("", spread, (min(counts), max(counts)), "")
    yield f"{wording.sentence(wording.listed(said))}{doubt}."


def _compared(
    measures: Sequence[Measure], compared: Compared, provenance: Mapping[str, Any]
) -> list[str]:
    """Of each measure what differs; then which do not, or what is still open."""
    found = {measure.name: clauses(measure, compared) for measure in measures}
    differ = [its for its in found.values() if its and its[0].differs][:_MOST]
    alike = [its[0] for its in found.values() if its and all(it.kind == "same" for it in its)]
    open_ = [it for its in found.values() for it in its if it.kind == "undecided"]
    texts = [[words(its[0])] for its in differ]
    used = [its[0] for its in differ]
    doubt = _DOUBT_WORDS if differ else 0
    for said, its in zip(texts, differ, strict=True):
        room = MOST_WORDS - (doubt if its is differ[-1] else 0)
        # Where it differs least, else more: the settings between lie between.
        for clause in reversed([it for it in its[1:] if it.kind != "undecided"]):
            text = words(clause, beside=its[0])
            if _length(joined := f"{said[0]}; {text}") <= room:
                said[0] = joined
            elif sum(map(len, texts)) < _MOST:
                said.append(text)
            else:
                continue
            used.append(clause)
            break
    flat = [wording.sentence(text) for said in texts for text in said]
    flat = _with_doubt(flat, _sure([it for clause in used for it in clause.findings]))
    closing = []
    if len(flat) < _MOST and open_ and not (differ and alike):
        closing.append(too_few(open_[0], compared, provenance))
    for clause in [it for it in alike if it.is_wide and len(compared.others) == 1]:
        other = Compared.of(clause.compared.headline, compared.others[0])
        its = clauses(clause.measure, other) if other else []
        if its and its[0].differs and len(flat) + len(closing) < _MOST:
            doubt = _sure([it for one in its[:1] for it in one.findings])
            flat += _with_doubt([wording.sentence(words(its[0]))], "" if used else doubt)
            alike.remove(clause)
            used.append(its[0])
    for same in ([it for it in alike if it.is_whole], *([it] for it in alike if not it.is_whole)):
        if len(flat) + len(closing) < _MOST and same:
            doubt = "" if used else _sure([it for clause in same for it in clause.findings])
            flat += _with_doubt([_alike(same)], doubt)
            used += same
    return [*flat, *closing]


_DOUBT_WORDS = 12
"""Words of the longest last clause."""


def _length(text: str) -> int:
    return len(text.split())


def _with_doubt(sentences: list[str], doubt: str) -> list[str]:
    """The sentences with the doubt behind the last that has room for it."""
    room = MOST_WORDS - _length(doubt)
    last = next((i for i in reversed(range(len(sentences))) if _length(sentences[i]) <= room), -1)
    said = [f"{text}{doubt if i == last else ''}." for i, text in enumerate(sentences)]
    if last < 0 and doubt and len(said) < _MOST:
        said.append(f"{wording.sentence(doubt.strip(' ()'))}.")
    return said


def _alike(same: Sequence[Clause]) -> str:
    """Measures that hardly change; of one of which not all can be compared, where."""
    found = same[0].findings[0]
    if not same[0].is_whole:
        return wording.sentence(words(same[0]))
    names = [clause.subject for clause in same]
    if len(names) > _MOST_NUMBERS:
        names = [*names[:2], f"{len(names) - 2} more measures"]
    verb = "is" if len(names) == 1 else "are"
    text = f"{wording.listed(names)} {verb} about the same {every(found.axis, found.groups[0])}"
    if len(same) == 1 and not same[0].is_wide:
        text += f": {same[0].level(found.groups[0])}"
    return wording.sentence(text)


def _sure(used: Sequence[Finding]) -> str:
    """How sure the differences are, and of how many runs the numbers are means."""
    if not used:
        return ""
    counts = [count for it in used for count in it.runs]
    spread = [_relative(it.change, max(map(abs, it.values(it.levels)))) for it in used]
    what = "" if all(it.kind == "same" for it in used) else "changes "
    return _doubt(what, spread, (min(counts), max(counts)), " per point")


def _relative(found: Estimate | None, level: float) -> float:
    """Half of an interval as a share of a number; infinite where nothing is known."""
    if found is None or found.low is None or found.high is None:
        return math.inf
    half = max(found.high - found.mean, found.mean - found.low)
    return half / abs(level) if level else 0.0


def _doubt(what: str, spread: Sequence[float], runs: tuple[int, int], per: str) -> str:
    """The last clause: at most `_DOUBT_WORDS` words."""
    least, most = runs
    if most == 1:
        return f" (one run{per}: a sample)"
    count = f"{wording.counts(least, most)}{per}"
    widest = max(spread)
    if least == 1 or not math.isfinite(widest):
        return f" ({count})"
    if widest < _NOTHING:
        return f" ({count}, all alike)"
    if widest > 1:
        return f" ({what}not known within 100 %, {count})"
    return f" ({what}±{_percent(widest)} at 95 % confidence, {count})"


_NOTHING = 0.0005
"""Intervals of a smaller share of the number are no doubt of anybody."""


def _percent(share: float) -> str:
    """A share in per cent, rounded up to two digits."""
    places = 1 if share < 0.1 else 0
    return f"{wording.number(math.ceil(100 * share * 10**places) / 10**places, places)} %"
