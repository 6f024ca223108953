"""The answer of a study in sentences, from its tables: what changed, how much, how sure."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from flashcrowd.report import lacking, wording
from flashcrowd.report.baseline import Baseline
from flashcrowd.report.headline import Headline
from flashcrowd.report.measure import Measure
from flashcrowd.report.points import Point, Points
from flashcrowd.report.statistics import Estimate

#: Where there would be more sentences than this, one sums up a measure.
_MOST_SENTENCES = 6

#: Intervals that leave room for more than this say nothing.
_TOO_WIDE = 1.0

#: Where more would be named, they are counted.
_MOST_NAMES = 3

#: Clear changes of less than this would be called 0.0 %.
_LEAST = 0.0005

#: What "as ... as" takes in place of the comparative.
_AS = {"longer": "long", "higher": "high", "later": "late"}


@dataclass(frozen=True)
class _Compared:
    """One point beside its baseline."""

    point: Point
    base: Point
    change: Estimate


def sentences(headline: Headline, points: Points) -> list[str]:
    """One sentence for each measure of the headline, and for each of a few contexts."""
    found: list[str] = []
    for measure in headline.measures:
        if headline.baseline is None:
            found += _alone(measure, points)
        else:
            sentences = len(headline.measures) * len(headline.baseline.contexts())
            apart = sentences <= _MOST_SENTENCES
            found += _compared(measure, headline.baseline, apart=apart)
        found += lacking.sentences(measure, points)
    return found


def _alone(measure: Measure, points: Points) -> Iterator[str]:
    for point in points.points:
        estimate = measure.at(point)
        if estimate is not None:
            level = wording.with_interval(estimate, measure.unit)
            if estimate.is_sample:
                level = f"{wording.mean(estimate, measure.unit)} (sample, n = 1)"
            yield f"{wording.sentence(measure.name)}: {level}."


def _compared(measure: Measure, baseline: Baseline, *, apart: bool) -> Iterator[str]:
    contexts = [
        (name, list(_comparisons(measure, baseline, members)))
        for name, members in baseline.contexts()
    ]
    contexts = [(name, compared) for name, compared in contexts if compared]
    if len(contexts) > 1 and not apart:
        yield _summed(measure, baseline, [each for _, compared in contexts for each in compared])
        return
    for name, compared in contexts:
        text = _largest(measure, baseline, compared)
        yield f"At {name}, {text}" if name else wording.sentence(text)


def _comparisons(
    measure: Measure, baseline: Baseline, members: Sequence[Point]
) -> Iterator[_Compared]:
    for point in members:
        base = baseline.of(point)
        change = measure.fair_change(point, base) if base is not None else None
        if base is not None and change is not None:
            yield _Compared(point, base, change)


def _largest(measure: Measure, baseline: Baseline, compared: Sequence[_Compared]) -> str:
    """The largest change that is clear and what comes near; or what is excluded if none is."""
    clear = [each for each in compared if _clear(each.change)]
    if not clear:
        return _none(measure, baseline, compared)
    most = max(clear, key=lambda each: abs(each.change.mean))
    rest = [each for each in compared if each is not most]
    text = f"{_beside(measure, baseline, most)} {_sure(most.change)}"
    return f"{text}; {_others(measure, baseline, rest)}." if rest else f"{text}."


def _others(measure: Measure, baseline: Baseline, rest: Sequence[_Compared]) -> str:
    """Which of the others are like the baseline, or come nearest to it."""
    names = {id(each): baseline.name(each.point) for each in rest}
    if all(_clear(each.change) for each in rest):
        least = min(rest, key=lambda each: abs(each.change.mean))
        which = f"{names[id(least)]}: " if len(rest) == 1 else f"least with {names[id(least)]}, "
        return which + _by(least.change, measure)
    bounds = {id(each): _bound(each.change) for each in rest if not _clear(each.change)}
    like = [it for it in bounds if bounds[it] < _TOO_WIDE]
    unknown = [it for it in bounds if bounds[it] >= _TOO_WIDE]
    parts = []
    if like:
        found = _listed([names[it] for it in like], len(rest))
        most = max(bounds[it] for it in like)
        excluded = f" (one above {_percent(most)} is excluded)" if most else ""
        parts.append(f"no clear difference with {found}{excluded}")
    if unknown:
        parts.append(
            f"too few runs to tell for {_listed([names[it] for it in unknown], len(rest))}"
        )
    return ", ".join(parts)


def _listed(names: Sequence[str], total: int) -> str:
    if len(names) > _MOST_NAMES:
        return "any other" if len(names) == total else f"{len(names)} of the {total} others"
    return ", ".join(names[:-1]) + " and " + names[-1] if len(names) > 1 else names[0]


def _bound(change: Estimate) -> float:
    """What a change could be at most, by its interval."""
    if change.low is None or change.high is None:
        return math.inf
    return max(abs(change.low), abs(change.high))


def _beside(measure: Measure, baseline: Baseline, each: _Compared) -> str:
    """A point and its baseline, and the change between them."""
    before, after = measure.at(each.base), measure.at(each.point)
    text = f"{measure.name} is "
    if before is not None and after is not None:
        places = measure.places(baseline.points.points)
        text += (
            f"{wording.mean(after, measure.unit, places=places)} with {baseline.name(each.point)} "
            f"and {wording.mean(before, measure.unit, places=places)} "
            f"with {baseline.name(each.base)}: "
        )
    return text + _by(each.change, measure)


def _clear(change: Estimate) -> bool:
    """Whether there is a change that a sentence can name."""
    return change.is_clear and abs(change.mean) >= _LEAST


def _none(measure: Measure, baseline: Baseline, compared: Sequence[_Compared]) -> str:
    """No clear difference, and the largest that the intervals leave room for."""
    base = baseline.name(compared[0].base)
    others = (
        baseline.name(compared[0].point) if len(compared) == 1 else f"any other {baseline.subject}"
    )
    if all(each.change.is_constant and each.change.mean == 0 for each in compared):
        return f"{measure.name} is the same with {others} as with {base}, in every pair of runs."
    text = f"{measure.name} does not differ clearly between {base} and {others}"
    ends = [e for each in compared for e in (each.change.low, each.change.high) if e is not None]
    if not ends:
        most = max(compared, key=lambda each: abs(each.change.mean))
        if most.change.mean:
            text = _beside(measure, baseline, most)
        return f"{text}; one run a point is a sample, more repeats give intervals."
    largest = max(abs(end) for end in ends)
    if largest > _TOO_WIDE:
        few = max(each.change.n for each in compared)
        return f"{text}: the intervals over {wording.count(few, 'run')} are too wide to tell."
    return f"{text}; differences larger than {_percent(largest)} are excluded."


def _summed(measure: Measure, baseline: Baseline, compared: Sequence[_Compared]) -> str:
    """Many contexts in one sentence."""
    clear = [each for each in compared if _clear(each.change)]
    name = wording.sentence(measure.name)
    if not clear:
        return wording.sentence(_none(measure, baseline, compared))
    low = min(clear, key=lambda each: each.change.mean)
    high = max(clear, key=lambda each: each.change.mean)
    head = (
        f"{name} differs clearly in {len(clear)} of {len(compared)} comparisons with "
        f"{baseline.words}"
    )
    if low is high:
        return f"{head}: {_by(low.change, measure)} at {low.point.label}."
    return (
        f"{head}, from {_by(low.change, measure)} ({low.point.label}) to "
        f"{_by(high.change, measure)} ({high.point.label})."
    )


def _by(change: Estimate, measure: Measure) -> str:
    """A change in words: ``9.4 % longer``, ``3.1 times as long``."""
    if change.mean >= 1:
        places = 0 if change.mean >= 9 else 1
        return f"{wording.number(1 + change.mean, places)} times as {_AS.get(measure.more, 'much')}"
    places = min(1, wording.decimals(100 * change.mean, _half(change)))
    word = measure.more if change.mean > 0 else measure.less
    return f"{wording.number(abs(100 * change.mean), places)} % {word}"


def _half(change: Estimate) -> float | None:
    if change.low is None or change.high is None:
        return None
    return 50 * (change.high - change.low)


def _sure(change: Estimate) -> str:
    """The interval of a change, in per cent."""
    if change.is_constant or change.is_sample:
        return f"({wording.change(change)[1]})"
    low, high = wording.change_ends(change)
    return f"(95 % interval {low} to {high} %, {wording.runs(change.n)})"


def _percent(share: float) -> str:
    """A bound in per cent, rounded up to two digits."""
    if share == 0:
        return "0 %"
    places = max(0, 1 - math.floor(math.log10(100 * share)))
    return f"{wording.number(math.ceil(100 * share * 10**places) / 10**places, places)} %"
