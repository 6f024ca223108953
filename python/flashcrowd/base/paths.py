"""Dotted paths into a study: `network.rtt`, `stacks."linux-2.6".mtu`, `timeline.dip.at`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from flashcrowd.base.errors import visible

_SEGMENT = re.compile(r'"([^"]*)"|([^."\[\]]+)')
_BARE = re.compile(r"[A-Za-z0-9_-]+")


def parse(path: str) -> list[str] | None:
    """The segments of a dotted path, quotes taken off; `None` if it is not one."""
    segments: list[str] = []
    place = 0
    while match := _SEGMENT.match(path, place):
        segments.append(match[1] if match[1] is not None else match[2].strip())
        place = match.end()
        if place == len(path):
            return segments
        if path[place] != ".":
            return None
        place += 1
    return None


def join(segments: Iterable[str | int]) -> str:
    """The dotted path of some segments; list positions are in brackets, odd names in quotes."""
    text = ""
    for segment in segments:
        if isinstance(segment, int):
            text += f"[{segment}]"
        else:
            name = segment if _BARE.fullmatch(segment) else f'"{visible(segment)}"'
            text += f".{name}" if text else name
    return text


def look_up(document: Any, segments: Sequence[str]) -> Any:
    """The value at a path of nested tables.

    Raises:
        KeyError: there is none.
    """
    for segment in segments:
        if not isinstance(document, dict) or segment not in document:
            raise KeyError(segment)
        document = document[segment]
    return document


def replaced(document: dict[str, object], segments: Sequence[str], value: Any) -> dict[str, object]:
    """A copy of `document` with `value` at a path; tables on the way are made where missing."""
    copy = dict(document)
    first, *rest = segments
    if rest:
        below = copy.get(first)
        copy[first] = replaced(below if isinstance(below, dict) else {}, rest, value)
    else:
        copy[first] = value
    return copy


def leaves(document: dict[str, object], prefix: tuple[str, ...] = ()) -> Iterable[tuple[str, ...]]:
    """The paths of all tables and values of nested tables."""
    for key, value in document.items():
        path = (*prefix, key)
        yield path
        if isinstance(value, dict):
            yield from leaves(value, path)
