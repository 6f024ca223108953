"""The answer of a study in at most three sentences, and one that says how sure they are.

The condition comes first, then the levels from best to worst, then the numbers. How well the
differences are known, and by how many runs, has a sentence of its own: it is about all of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from flashcrowd.report import lacking, wording
from flashcrowd.report.clause_words import MOST_WORDS, every, words
from flashcrowd.report.clauses import Clause, clauses, subject
from flashcrowd.report.compared import Compared
from flashcrowd.report.expectations import Judged, overall
from flashcrowd.report.headline import Headline
from flashcrowd.report.measure import Measure
from flashcrowd.report.points import Points
from flashcrowd.report.statistics import Estimate
from flashcrowd.report.too_few import too_few

#: Sentences of an answer; how sure they are and what is missing of the numbers come behind them.
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
    provenance: Mapping[str, object] | None = None,
) -> list[str]:
    """The answer of a study, and what is missing from it.

    Args:
        headline: the measures that decide, and with what points are compared.
        points: the points of the study.
        judged: the outcome of its expectations, which decide a question with yes or no.
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
    if headline.absent:
        names = wording.listed([f'"{name}"' for name in headline.absent], "or")
        found.append(f"No run has a number for {names}.")
    return found


def _decided(question: str, judged: Sequence[Judged]) -> str:
    """The verdict of the expectations on a question, for the begin of the first sentence."""
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
    said = [f"{subject(m)} is {m.column(points.points).level(found)}" for m, found in known]
    spreads = [_relative(found, found.mean) for _, found in known]
    counts = [found.n for _, found in known]
    runs = wording.counts(min(counts), max(counts))
    if max(counts) == 1:
        doubt = "one run: a sample"
    elif not math.isfinite(max(spreads)):
        doubt = runs
    elif max(spreads) < _NOTHING:
        doubt = f"{runs}, all alike"
    elif _are_near(spreads):
        each = "each " if len(known) > 1 else ""
        doubt = f"{each}±{_percent(max(spreads))} at {_CONFIDENCE}, {runs}"
    else:
        said = [f"{text} ±{_percent(it)}" for text, it in zip(said, spreads, strict=True)]
        doubt = f"{_CONFIDENCE}, {runs}"
    yield f"{wording.sentence(wording.listed(said))} ({doubt})."


def _compared(
    measures: Sequence[Measure], compared: Compared, provenance: Mapping[str, object]
) -> list[str]:
    """Of each measure what differs; then which do not, or what is still open."""
    found = {measure.name: clauses(measure, compared) for measure in measures}
    differ = [its for its in found.values() if its and its[0].differs][:_MOST]
    alike = [its[0] for its in found.values() if its and all(it.kind == "same" for it in its)]
    open_ = [it for its in found.values() for it in its if it.kind == "undecided"]
    texts = [[words(its[0])] for its in differ]
    used = [its[0] for its in differ]
    for said, its in zip(texts, differ, strict=True):
        # Where it differs least, else more: the settings between lie between.
        for clause in reversed([it for it in its[1:] if it.kind != "undecided"]):
            text = words(clause, beside=its[0])
            if len((joined := f"{said[0]}; {text}").split()) <= MOST_WORDS:
                said[0] = joined
            elif sum(map(len, texts)) < _MOST:
                said.append(text)
            elif len((joined := f"{words(its[0], inner=1)}; {text}").split()) <= MOST_WORDS:
                said[0] = joined
            else:
                continue
            used.append(clause)
            break
    flat = [f"{wording.sentence(text)}." for said in texts for text in said]
    closing = []
    if len(flat) < _MOST and open_ and not (differ and alike):
        closing.append(too_few(open_[0], compared, provenance))
    for clause in [it for it in alike if it.is_wide and len(compared.others) == 1]:
        other = Compared.of(clause.compared.headline, compared.others[0])
        its = clauses(clause.measure, other) if other else []
        if its and its[0].differs and len(flat) + len(closing) < _MOST:
            flat.append(f"{wording.sentence(words(its[0]))}.")
            alike.remove(clause)
            used.append(its[0])
    same = [it for it in alike if it.is_whole]
    for group in (same, *([it] for it in alike if not it.is_whole)):
        if len(flat) + len(closing) < _MOST and group:
            flat.append(f"{_alike(group)}.")
            used += group
    return [*flat, *_sure(used), *closing]


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


def _sure(used: Sequence[Clause]) -> Iterator[str]:
    """A sentence on how well the differences are known, and by how many runs."""
    if not used:
        return
    counts = [count for clause in used for it in clause.findings for count in it.runs]
    least, most = min(counts), max(counts)
    runs = f"{wording.counts(least, most)} per point"
    of: dict[str, float] = {}
    differences = 0
    for clause in used:
        # Of two numbers too small to matter, a share says nothing: 0.01 % of losses and none.
        small = clause.compared.headline.least(clause.measure).amount
        for change, size in (it for found in clause.findings for it in found.changes):
            if size >= small:
                of[clause.subject] = max(of.get(clause.subject, 0.0), _relative(change, size))
                differences += 1
    spread = max(of.values(), default=0.0)
    if most == 1:
        yield "Each number is a sample: one run per point."
    elif least == 1 or not math.isfinite(spread):
        yield f"How well the differences are known is open ({runs})."
    elif not of:
        yield f"All differences are too small to matter ({runs})."
    elif spread < _NOTHING:
        yield f"The runs of a point are all alike ({runs})."
    elif not _are_near(list(of.values())):
        (names, first), *others = _together(of)
        parts = [
            f"differences in {names} are known within {_percent(first)} of the larger number",
            *(f"in {other} within {_percent(share)}" for other, share in others),
        ]
        yield f"The {', '.join(parts)} ({_CONFIDENCE}, {runs})."
    elif spread > 1:
        yield f"The differences are not known within 100 % ({_CONFIDENCE}, {runs})."
    else:
        which = "The" if differences == 1 else "Each"
        known = f"{which} difference is known within {_percent(spread)} of the larger number"
        yield f"{known} ({_CONFIDENCE}, {runs})."


_CONFIDENCE = "95 % confidence"


def _relative(found: Estimate | None, level: float) -> float:
    """Half of an interval as a share of a number; infinite where nothing is known."""
    if found is None or found.low is None or found.high is None:
        return math.inf
    half = max(found.high - found.mean, found.mean - found.low)
    return half / abs(level) if level else 0.0


_NOTHING = 0.0005
"""Intervals of a smaller share of the number are no doubt."""


_NEAR = 2.0
"""If intervals of measures differ by no more than this factor, the widest stands for all."""


def _together(of: Mapping[str, float]) -> list[tuple[str, float]]:
    """Measures that are known about as well, with the widest share of each such group."""
    groups: list[tuple[list[str], float]] = []
    for name, share in sorted(of.items(), key=lambda pair: -pair[1]):
        if groups and _are_near([groups[-1][1], share]):
            groups[-1][0].append(name)
        else:
            groups.append(([name], share))
    return [(wording.listed(names), share) for names, share in reversed(groups)]


def _are_near(spreads: Sequence[float]) -> bool:
    return max(spreads) <= _NEAR * max(min(spreads), _NOTHING)


def _percent(share: float) -> str:
    """A share in per cent, rounded up to two digits, 0.1 % at least."""
    share = max(share, 0.001)
    places = 1 if share <= 0.099 else 0
    return f"{wording.number(math.ceil(100 * share * 10**places) / 10**places, places)} %"
