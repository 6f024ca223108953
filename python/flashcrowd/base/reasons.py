"""Reasons for how runs ended: those that differ in their numbers alone are one."""

from __future__ import annotations

import re
from collections.abc import Iterable

_NUMBER = re.compile(r"\d[\d.]*")


def form(reason: str) -> str:
    """A reason without its numbers."""
    return _NUMBER.sub("#", reason)


def alike(reasons: Iterable[str]) -> list[tuple[str, int]]:
    """Each reason once, with how often it was given; of those of one form the first."""
    groups: dict[str, list[str]] = {}
    for reason in reasons:
        groups.setdefault(form(reason), []).append(reason)
    return [(said(group), len(group)) for group in groups.values()]


def said(group: list[str]) -> str:
    """The first of some reasons of one form, and whether there are others."""
    return group[0] + (", or the like" if len(set(group)) > 1 else "")
