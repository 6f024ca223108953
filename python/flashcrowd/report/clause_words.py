"""A clause of an answer in words."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from flashcrowd.report import axis_words, wording
from flashcrowd.report.clauses import Clause
from flashcrowd.report.compared import in_each
from flashcrowd.report.measure import Measure
from flashcrowd.report.points import Axis
from flashcrowd.report.waits import BLOATED_S

MOST_WORDS = 45
"""Words of a sentence at most."""

_FEWER = 34
"""Words beyond which levels are counted rather than named."""

#: Levels of a group that are named, more are counted; fewer where a sentence grows too long. Then
#: groups that are named between the best and the worst; more become one. All of three levels are
#: named while they fit.
_NAMES = ((3, 2), (2, 2), (2, 1), (2, 0), (1, 0), (0, 0))
_ALL_NAMED = 3


#: What "as ... as" takes in place of the comparative.
_AS = {"longer": "long", "higher": "high", "later": "late"}

#: From this factor on a change is given as a factor, not in per cent.
_FACTOR = 2.0


def every(axis: Axis, levels: Sequence[int]) -> str:
    """These levels, to follow a verb: all of them in short."""
    if len(levels) == len(axis.levels) > 2:
        return in_each([axis])
    return f"with {_several(axis, levels, _NAMES[0][0], named=False)}"


def words(clause: Clause, beside: Clause | None = None, inner: int = 2) -> str:
    """A clause, without a capital and a full stop.

    Args:
        clause: what came out.
        beside: the clause before about the measure, in the same sentence or the one before.
        inner: groups that are named between the best and the worst, at most.
    """
    end, bad = "", ""
    if is_bufferbloat(clause) and _lists(clause):
        bad = " (bufferbloat)"
    elif is_bufferbloat(clause):
        falls = clause.kind == "trend" and len(clause.findings[0].groups) == 2
        shrinks = falls and clause.findings[0].ratio < 1
        end = ", as bufferbloat shrinks" if shrinks else ", because of bufferbloat"
    said = [
        f"{_once(_words(clause, beside, names, min(between, inner), bad))}{end}"
        for names, between in _NAMES
    ]
    for most in (_FEWER, MOST_WORDS):
        for text in said[: 2 if most == _FEWER else None]:
            if len(text.split()) <= most:
                return text
    return said[-1]


def _once(text: str) -> str:
    """The text with one word on where those are that are counted, behind the last of them."""
    head, where, tail = text.rpartition(axis_words.WHERE)
    return f"{head.replace(axis_words.WHERE, '')}{where}{tail}"


def _lists(clause: Clause) -> bool:
    """Whether numbers are listed without how they differ: a cause is that of the highest."""
    found = clause.findings[0]
    if found.kind == "trend":
        return len(found.groups) > 2 and not found.bends
    return not _by(clause)[0]


def is_bufferbloat(clause: Clause) -> bool:
    """Whether a delay grows because packets wait in a queue, by the tables of the links."""
    if clause.measure.metric not in _DELAYS or not clause.differs:
        return False
    queues = clause.compared.headline.queues
    for found in clause.findings:
        means = {level: found.values([level])[0] for level in found.levels}
        low, high = (found.points[pick(means, key=means.__getitem__)] for pick in (min, max))
        rise = max(means.values()) - min(means.values())
        waits = [
            after.mean - before.mean
            for queue in queues
            if (after := queue.at(high)) and (before := queue.at(low))
        ]
        if max(waits, default=0.0) < max(BLOATED_S * 1e3, rise / 2):
            return False
    return True


_DELAYS = (
    "ping",
    "one-way delay",
    "tail one-way delay",
    "round-trip time",
    "tail round-trip time",
)


def _words(clause: Clause, beside: Clause | None, names: int, inner: int, bad: str) -> str:
    """In words; `bad` is behind the highest number."""
    where = clause.compared.named(clause.settings, again=beside is not None)
    name = "it" if beside else clause.subject
    head = f"{where}, {name}" if where else name
    found = clause.findings[0]
    if clause.kind == "same":
        return f"{head} is {clause.level(found.groups[0])} {every(found.axis, found.groups[0])}"
    if clause.kind == "trend":
        return f"{head} {_trend(clause, bad, named=beside is not None)}"
    if found.against in found.levels:
        return f"{head} is {_against(clause, names, bad, named=beside is not None)}"
    by, than = _by(clause)
    if by and clause.is_wide and len(found.levels) == len(found.groups):
        if _is_back(clause):
            first = axis_words.settings(found.axis, found.groups[0], named=beside is not None)
            return f"{head} is {by} with {first}{than}"
        (better,), (worse,) = found.groups
        of_better = axis_words.settings(found.axis, [better], named=True)
        of_worse = axis_words.settings(found.axis, [worse], named=beside is not None)
        return f"{head} is {by} with {of_worse} than with {of_better}"
    if by and beside is not None and beside.form == clause.form:
        return f"{head} is {by}{than}"
    ranked = _ranked(clause, names, bad, inner=inner, named=beside is not None)
    text = f"{head} is {ranked}{f': {by}{than}' if by else ''}"
    if found.against is None:
        return text
    other = f"{clause.level([found.against])} with {axis_words.value(found.axis, found.against)}"
    return f"{text}; neither differs surely from the {other}"


def _against(clause: Clause, names: int, bad: str, *, named: bool) -> str:
    """The level with which others are compared, those that differ surely, and how many do not."""
    found = clause.findings[0]
    base, *sure = found.groups
    highest = _highest(clause)
    number, last = _unless(clause.level(base), "")
    text = f"{number} with {axis_words.settings(found.axis, base, named=named or not names)}"
    text += bad if base == highest else ""
    said = []
    for group in sure:
        ratios = [
            value / it.values(base)[0] if it.values(base)[0] else math.inf
            for it in clause.findings
            for value in it.values(group)
        ]
        if clause.measure.unit != "%" and all(0 < ratio < math.inf for ratio in ratios):
            how = by(ratios, clause.measure)
        else:
            how, last = _unless(clause.level(group), last)
        which = _several(found.axis, group, names, named=True)
        said.append(f"{how} with {which}{bad if group == highest else ''}")
    rest = found.unsure
    others = (
        f"the other {len(rest)}"
        if len(rest) > 1
        else axis_words.settings(found.axis, rest, named=True)
    )
    return f"{text}: {wording.listed(said)}; no sure difference with {others}"


def _highest(clause: Clause) -> tuple[int, ...]:
    """The group of levels with the highest number."""
    return max(clause.findings[0].groups, key=lambda group: max(clause.values(group)))


def _ranked(clause: Clause, names: int, bad: str, *, inner: int, named: bool) -> str:
    """The groups of levels with their numbers: the best first."""
    found = clause.findings[0]
    first, *between, last_group = found.groups
    if len(between) > inner:
        between = [tuple(level for group in between for level in group)][:inner]
    groups = [first, *between, last_group]
    # All others are those that are left when the rest has been named, never the first group.
    crowd = max(range(1, len(groups)), key=lambda i: (len(groups[i]), i))
    highest = _highest(clause)
    if found.reference is not None and clause.values([found.reference]) > clause.values(highest):
        highest = ()
    said, last = [], ""
    for i, group in enumerate(groups):
        number, last = _unless(clause.level(group), last)
        if len(group) > names and i == crowd:
            which = f"the other {len(group)}"
        else:
            which = _several(found.axis, group, names, named=named)
            named = True
        said.append(f"{number} with {which}{bad if group == highest else ''}")
    text = wording.listed(said)
    if found.reference is not None:
        number, _ = _unless(clause.level([found.reference]), last)
        text += f", against {number} with {axis_words.value(found.axis, found.reference)}"
        text += bad if highest == () else ""
    return text


def _several(axis: Axis, group: Sequence[int], names: int, *, named: bool) -> str:
    if len(group) <= (_ALL_NAMED if names > 1 else 1 + names):
        return axis_words.settings(axis, group, named=named)
    if not names:
        return f"{len(group)} settings{axis_words.WHERE}"
    kept = max(1, names - 1)
    others = len(group) - kept
    return axis_words.settings(axis, group[:kept], named=named, others=others)


def _unless(level: str, last: str) -> tuple[str, str]:
    """A number without its unit where that is the `last` one; and its unit."""
    number, _, unit = level.rpartition(" ")
    return (number if unit == last else level), unit


def _trend(clause: Clause, bad: str, *, named: bool) -> str:
    found = clause.findings[0]
    axis, groups = found.axis, found.groups
    levels = [clause.about(group) for group in groups]
    first, last = groups[0][0], groups[-1][0]
    verb = "grows" if found.ratio > 1 else "falls"
    at_last = axis_words.at(axis, last, named=True)
    if found.settles:
        at_last = f"from {at_last.removeprefix('at ')} on"
    if found.bends:
        upto = axis_words.at(axis, groups[1][0], named=named).removeprefix("at ")
        return f"stays at {levels[0]} up to {upto} and {verb} to {levels[2]} {at_last}"
    if len(groups) == 2:
        at_first = axis_words.at(axis, first, named=named)
        return f"{verb} from {levels[0]} {at_first} to {levels[1]} {at_last}"
    inner = groups[1][0]
    word = "highest" if found.values(groups[1])[0] > found.values(groups[0])[0] else "lowest"
    causes = [bad if group == _highest(clause) else "" for group in groups]
    return (
        f"is {word} {axis_words.at(axis, inner, named=named)}: {levels[1]}{causes[1]}, against "
        f"{levels[0]} {axis_words.at(axis, first, named=True)}{causes[0]} and {levels[2]} "
        f"{at_last}{causes[2]}"
    )


def _by(clause: Clause) -> tuple[str, str]:
    """How much the last group differs from the first, and from what if that is not plain.

    As in ``9.4 % longer`` or ``3.1 times as long``. Where the last group has the baseline, how much
    the first differs from that, as the table has it: ``8.6 % shorter``, `` than with CUBIC``.
    """
    found = clause.findings[0]
    if clause.measure.unit == "%" or len(found.groups) != 2 or found.reference is not None:
        return "", ""
    back = _is_back(clause)
    ratios = [ratio for it in clause.findings for ratio in it.ratios(back=back)]
    if min(ratios) <= 1.0 <= max(ratios) or not 0 < min(ratios) <= max(ratios) < math.inf:
        return "", ""
    text, than = by(ratios, clause.measure), ""
    better = found.groups[0]
    if back or (len(better) > 1 and found.base in better and " to " in clause.level(better)):
        word = "than" if text.endswith((clause.measure.more, clause.measure.less)) else "as"
        than = f" {word} with {axis_words.value(found.axis, found.base)}"
    return text, than


def _is_back(clause: Clause) -> bool:
    """Whether the baseline is in the last group."""
    return clause.compared.baseline in clause.findings[0].groups[-1]


def by(ratios: Iterable[float], measure: Measure) -> str:
    """Ratios of two numbers in words."""
    ratios = sorted(ratios)
    if ratios[0] >= _FACTOR:
        texts = [wording.significant(ratio, digits=2) for ratio in (ratios[0], ratios[-1])]
        return f"{' to '.join(dict.fromkeys(texts))} times as {_AS.get(measure.more, 'much')}"
    word = measure.more if ratios[-1] > 1 else measure.less
    shares = sorted(100 * abs(ratio - 1) for ratio in ratios)
    texts = [wording.significant(share, digits=2) for share in (shares[0], shares[-1])]
    return f"{' to '.join(dict.fromkeys(texts))} % {word}"
