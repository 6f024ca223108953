"""Reasons for how runs ended: those that differ in their numbers alone are one."""

from __future__ import annotations

import re
from collections.abc import Iterable

_NUMBER = re.compile(r"\d(?:[\d.\u202f]*\d)?")

_AMOUNT = re.compile(r"(?<![^\s(\[])[\d\u202f]+(?:\.\d+)?(?![\w/:-]|\.\d)")
"""A number that counts or measures; others are parts of names and addresses."""


def form(reason: str) -> str:
    """A reason without its numbers."""
    return _NUMBER.sub("#", reason)


def alike(reasons: Iterable[str]) -> list[tuple[str, int]]:
    """Each form of reason once, with ranges for its numbers, and how often it was given."""
    groups: dict[str, list[str]] = {}
    for reason in reasons:
        groups.setdefault(form(reason), []).append(reason)
    return [(said(group), len(group)) for group in groups.values()]


def said(group: list[str]) -> str:
    """Some reasons of one form as one: an amount that differs is a range.

    Where their names differ, the first of them, and that there are others.
    """
    distinct = list(dict.fromkeys(group))
    first = distinct[0]
    if len(distinct) == 1:
        return first
    amounts = [{found.span() for found in _AMOUNT.finditer(it)} for it in distinct]
    parts, end = [], 0
    for places in zip(*map(_NUMBER.finditer, distinct), strict=True):
        texts = {place[0] for place in places}
        if len(texts) > 1:
            if any(it.span() not in of for it, of in zip(places, amounts, strict=True)):
                return f"{first}, or the like"
            low, *_, high = sorted(texts, key=_value)
            parts += [first[end : places[0].start()], f"{low} to {high}"]
            end = places[0].end()
    return "".join([*parts, first[end:]])


def _value(text: str) -> float:
    return float(text.replace("\u202f", ""))
