"""A comparison in sentences: what differs, what does not, and what is still open."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from flashcrowd.report import lacking, wording
from flashcrowd.report.clause_words import by
from flashcrowd.report.clauses import subject
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
    """Differences first, then equal measures, then open ones; at how many points."""
    first = comparison.sides[0].name
    parts = []
    for verdict in ("different", "equivalent", "undecided"):
        chosen = [pair for pair in pairs if pair.found.verdict == verdict]
        if chosen:
            both = "" if parts else _in(verdict, name, first)
            words = _VERDICTS[verdict](comparison, measure, chosen)
            parts.append(f"{words}{both}{_where(comparison, chosen, len(pairs))}")
    return wording.sentence(f"{subject(measure)} is {wording.listed(parts)}{_runs(pairs)}.")


def _in(verdict: str, name: str, first: str) -> str:
    """Of which folders a verdict is."""
    if verdict == "undecided":
        return f" between {name} and {first}"
    return f" in {name} {'than' if verdict == 'different' else 'as'} in {first}"


def _range(_: Pairs, measure: Measure, pairs: Sequence[Pair]) -> str:
    """From the smallest change to the largest: ``8.1 to 12 % longer``."""
    changes = [pair.found.change.mean for pair in pairs if pair.found.change is not None]
    if not changes:
        return "different"
    if min(changes) < 0 < max(changes):
        return f"{by([1 + min(changes)], measure)} to {by([1 + max(changes)], measure)}"
    return by([1 + change for change in changes], measure)


_VERDICTS: dict[str, Callable[[Pairs, Measure, Sequence[Pair]], str]] = {
    "different": _range,
    "equivalent": lambda comparison, *_: f"the same within {100 * comparison.margin:.3g} %",
    "undecided": lambda *_: "undecided for lack of runs",
}
"""The words for points with one verdict."""


def _where(comparison: Pairs, chosen: Sequence[Pair], count: int) -> str:
    if count == 1:
        return ""
    if len(chosen) == count:
        return f" at all {count} points"
    where = f" at {len(chosen)} of {count} points"
    if len(chosen) <= _NAMED:
        where += f" ({'; '.join(comparison.setting(pair.point) for pair in chosen)})"
    return where


_NAMED = 2
"""Points that are named; more are counted."""


def _runs(pairs: Sequence[Pair]) -> str:
    """How many runs of each folder were compared at a point."""
    counts = sorted(pair.found.change.n for pair in pairs if pair.found.change is not None)
    if not counts:
        return ""
    per = "" if len(pairs) == 1 else " per point"
    return f" ({wording.counts(counts[0], counts[-1])}{per})"


def differing(comparison: Pairs) -> str:
    """The settings that are not the same in all folders, the first of them by their paths."""
    paths = [path for path, _ in comparison.merged.settings]
    if not paths:
        return SAME_SETTINGS
    more = len(paths) - _PATHS
    rest = [wording.count(more, "other setting")] if more > 0 else []
    return f"What differs: {wording.listed([*paths[:_PATHS], *rest])}."


SAME_SETTINGS = "The studies have the same settings."

_PATHS = 5
"""Settings that a terminal names; more are counted."""


def tally(pairs: Sequence[Pair]) -> str:
    """How many points have which verdict: ``3 different, 1 undecided``."""
    words = [pair.found.words for pair in pairs]
    return ", ".join(f"{words.count(word)} {word}" for word in dict.fromkeys(words))


def method(comparison: Pairs) -> str:
    """How the verdicts are found, for the foot of a page."""
    margin, level = 100 * comparison.margin, 100 * comparison.level
    return (
        f"Equivalent within {margin:.3g} %: two one-sided tests at the level of {level:.3g} % each "
        f"show that the ratio of the means is between {1 - comparison.margin:.4g} and "
        f"{1 + comparison.margin:.4g}. Different: that is not shown, and the 95 % interval of the "
        "difference is without zero. Undecided: neither; more repeats would tell. Each point and "
        "measure is tested for itself: of twenty that do not differ, one may be called different."
    )
