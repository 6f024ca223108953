"""A comparison in sentences: what is different, what is not, and what nobody can tell yet."""

from __future__ import annotations

from collections.abc import Sequence

from flashcrowd.report import lacking, wording
from flashcrowd.report.compare_pairs import Pair, Pairs
from flashcrowd.report.measures import Measure


def sentences(comparison: Pairs) -> list[str]:
    """A sentence for each measure of the headline and each folder but the first."""
    found = []
    for measure in comparison.measures[: comparison.decisive or None]:
        pairs = comparison.pairs(measure)
        for side in comparison.sides[1:]:
            mine = [pair for pair in pairs if comparison.folder(pair.point) == side.name]
            if mine:
                found.append(_sentence(comparison, measure, side.name, mine))
        found += lacking.sentences(measure, comparison.points)
    return found


def _sentence(comparison: Pairs, measure: Measure, name: str, pairs: Sequence[Pair]) -> str:
    first = comparison.sides[0].name
    head = wording.sentence(measure.name)
    if len(pairs) == 1:
        return f"{head}: {name} against {first}: {_single(pairs[0])}."
    parts = []
    for verdict in ("different", "equivalent", "undecided"):
        chosen = [pair for pair in pairs if pair.found.verdict == verdict]
        if chosen:
            where = _where(comparison, chosen, len(pairs))
            parts.append(f"{chosen[0].found.words} {where}{_range(chosen)}")
    return f"{head}: {name} against {first}: {'; '.join(parts)}."


def _single(pair: Pair) -> str:
    change = pair.found.change
    if change is None:
        return pair.found.words
    return f"{pair.found.words}, {wording.per_cent(change)}"


def _where(comparison: Pairs, chosen: Sequence[Pair], count: int) -> str:
    if len(chosen) == count:
        return f"at all {count} points"
    where = f"at {len(chosen)} of {count} points"
    if len(chosen) <= 3:
        where += f" ({'; '.join(comparison.setting(pair.point) for pair in chosen)})"
    return where


def _range(pairs: Sequence[Pair]) -> str:
    """From the smallest change to the largest."""
    means = [pair.found.change.mean for pair in pairs if pair.found.change is not None]
    if not means:
        return ""
    if not any(means):
        return ": the means are the same"
    low, high = (f"{wording.number(100 * m, 1, sign=True)} %" for m in (min(means), max(means)))
    return f", {low}" if low == high else f", {low} to {high}"


def tally(pairs: Sequence[Pair]) -> str:
    """How many points have which verdict: ``3 different, 1 undecided``."""
    words = [pair.found.words for pair in pairs]
    return ", ".join(f"{words.count(word)} {word}" for word in dict.fromkeys(words))


def method(comparison: Pairs) -> str:
    """How the verdicts are found, for the foot of a page."""
    margin, level = 100 * comparison.margin, 100 * comparison.level
    return (
        f"Equivalent within {margin:.3g} %: two one-sided tests at the level of {level:.3g} % each "
        f"show that the ratio of the means lies between {1 - comparison.margin:.4g} and "
        f"{1 + comparison.margin:.4g}. Different: that is not shown, and the 95 % interval of the "
        "difference is without zero. Undecided: neither; more repeats would tell. Each point and "
        "measure is tested for itself: of twenty that do not differ, one may be called different."
    )
