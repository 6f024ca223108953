"""Swept settings in a sentence: article, preposition and plural, in one place."""

from __future__ import annotations

import re
from collections.abc import Sequence

from flashcrowd.report.points import Axis, Point, Points
from flashcrowd.report.setting_names import is_plural
from flashcrowd.report.sweep_values import scale, shown
from flashcrowd.report.wording import listed

#: An amount with its unit, or without.
_AMOUNT = re.compile(r"([+-]?\d[\d_.]*(?:e[+-]?\d+)?)(?: (\S+))?")

#: A value that begins with an amount that has a unit: "2 % in bursts of 4".
_MEASURED = re.compile(r"[+-]?\d[\d_.]* \S.*")

#: Values that mean that there is nothing of it.
_NOTHING = ("none", "null")

#: Where levels are that are counted.
WHERE = " (see the table)"

#: Values that are at an end of numbers.
ENDS = (*_NOTHING, "unlimited")

#: Beginnings of a word that is spoken with a vowel first: names of letters as well.
_VOWEL = re.compile(
    r"(?!uni|use|utp|u[A-Z]|one\b|eu)[aeiou]|RTT|RTO|MTU|MSS|LTE|8|11 |18 |hour|[fhlmnrsx]\b"
)

#: Ends of names that a value follows: "seed at Frankfurt".
_PREPOSITIONS = (" at", " from", " to", " between", " through", " after")

#: Words of studies as the field writes them.
SPELLED = {
    "bbr": "BBR", "bbr-v3": "BBRv3", "cake": "CAKE", "choke": "CHOKe", "codel": "CoDel",
    "cubic": "CUBIC", "drr": "DRR", "fledbat": "fLEDBAT", "fq-codel": "FQ-CoDel",
    "ledbat": "LEDBAT", "ledbat-plus-plus": "LEDBAT++", "lp": "TCP-LP", "new-reno": "NewReno",
    "nice": "NICE", "pie": "PIE", "red": "RED", "reno": "Reno", "sfq": "SFQ", "vegas": "Vegas",
}  # fmt: skip


def with_article(noun: str) -> str:
    """``an RTT``, ``a home upload queue``."""
    return f"{'an' if _VOWEL.match(noun) else 'a'} {noun}"


def spelled(word: str) -> str:
    """A word of a study as the field writes it."""
    return SPELLED.get(word, word)


def value(axis: Axis, level: int) -> str:
    """A level where the setting has been named already: ``400 ms``, ``FQ-CoDel``."""
    label = axis.label(level).strip()
    return label if axis.cases else spelled(label)


def setting(axis: Axis, level: int) -> str:
    """A level with its setting, to follow "with": ``an RTT of 400 ms``."""
    text = value(axis, level)
    if axis.cases:
        return text
    if text in _NOTHING:
        return f"no {axis.name}"
    if text == "unlimited":
        return (
            f"no {axis.name}"
            if axis.name.endswith("limit")
            else with_article(f"{text} {axis.name}")
        )
    if len(axis.paths) > 1:
        return _together(axis, level)
    if axis.name.endswith(_PREPOSITIONS):
        return f"{axis.name} {text}"
    if is_plural(axis.name):
        amount = _AMOUNT.fullmatch(text)
        if amount and not amount[2]:
            return f"{text} {axis.name.removesuffix('s') if text == '1' else axis.name}"
        return f"{text} as {axis.name}"
    if _MEASURED.fullmatch(text) or _AMOUNT.fullmatch(text):
        return f"{with_article(axis.name)} of {text}"
    return f"{axis.name} {text}" if text in ("on", "off") else f"{text} as {axis.name}"


def at(axis: Axis, level: int, *, named: bool = False) -> str:
    """A level of a trend, to follow its number: ``at an RTT of 400 ms``, ``unlimited``."""
    text = value(axis, level)
    if text in _NOTHING:
        return f"with no {axis.name}"
    if named:
        return text if text == "unlimited" else f"at {text}"
    return f"{'with' if text == 'unlimited' else 'at'} {setting(axis, level)}"


def point(points: Points, of: Point, *, named: bool = False) -> str:
    """The swept values at a point, to follow "with": ``an RTT of 50 ms and no upload limit``.

    Args:
        points: all points.
        of: the point.
        named: whether the settings have been named; one alone has only its value then.
    """
    swept = [pair for pair in zip(points.axes, of.levels, strict=True) if len(pair[0].levels) > 1]
    if named and len(swept) == 1 and value(*swept[0]) not in ENDS:
        return value(*swept[0])
    return listed([setting(axis, level) for axis, level in swept])


def _together(axis: Axis, level: int) -> str:
    """Several settings that change together, each with its value where each has a name."""
    names = axis.name.split(" / ")
    values = [shown(each) for each in axis.levels[level]]
    if len(names) != len(values):
        return f"{axis.name} {value(axis, level)}"
    return listed([f"{name} {text}" for name, text in zip(names, values, strict=True)])


def settings(
    axis: Axis, levels: Sequence[int], word: str = "or", *, named: bool = False, others: int = 0
) -> str:
    """Several levels: ``an upload queue of 20 or 200 packets``.

    Args:
        axis: the setting.
        levels: those that are named.
        word: what is before the last one.
        named: whether the setting has been named.
        others: how many more there are.
    """
    more = [f"{others} {'others' if others > 1 else 'other'}"] if others else []
    where = WHERE if others else ""
    plain = [value(axis, level) for level in levels]
    first = plain[0] if named else setting(axis, levels[0])
    if len(plain) + others < 2:
        return first
    for tail in (f" {axis.name}", f" {axis.name.removesuffix('s')}", f" as {axis.name}"):
        if first == f"{plain[0]}{tail}":  # 0 or 1 flows, CUBIC or BBR as transport
            noun = tail if " as " in tail else f" {axis.name}"
            return f"{listed([*plain, *more], word)}{noun}{where}"
    units = {_unit(text) for text in plain}
    if len(units) == 1 and (unit := units.pop()) and not axis.cases:
        said = [text.removesuffix(f" {unit}") for text in (first, *plain[1:])]
        return listed([*said[:-1], f"{said[-1]} {unit}", *more], word) + where
    return listed([first, *plain[1:], *more], word) + where


def _unit(text: str) -> str:
    amount = _AMOUNT.fullmatch(text)
    return (amount[2] or "") if amount else ""


def each(axis: Axis) -> str:
    """All levels, to follow "with": ``each home upload queue``."""
    name = " and ".join(axis.name.split(" / "))
    if is_plural(name):
        return f"each number of {name}" if axis.scale else f"each of the {name}"
    several = name.partition(" ")[0].endswith(("s'", "'s"))
    return f"each {'value of ' if several else ''}{name}"


def is_ordered(axis: Axis) -> bool:
    """Whether the levels go up, or down: numbers, with "none" or "unlimited" at an end at most."""
    numbers = numbers_of(axis)
    return numbers is not None and len(numbers) > 1


def numbers_of(axis: Axis) -> list[float] | None:
    """The levels as numbers, those at an end without; `None` if they are not in order."""
    if axis.cases or len(axis.paths) != 1:
        return None
    texts = [axis.label(level) for level in range(len(axis.levels))]
    while texts and texts[0] in ENDS:
        texts = texts[1:]
    while texts and texts[-1] in ENDS:
        texts = texts[:-1]
    found = scale(texts)
    if found is None:
        return None
    values = list(found.values)
    return values if values in (sorted(values), sorted(values, reverse=True)) else None
