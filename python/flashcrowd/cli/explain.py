"""`flashcrowd explain`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Annotated

from cyclopts import Parameter

from flashcrowd.study.explain import Key, find, suggestions

MOST = 12
"""So many keys are explained in full; more are listed."""


LISTS = {
    "access": "lines",
    "controller": "controllers",
    "data_transport": "stacks, flashcrowd list utp",
    "profile": "clients",
    "series": "series",
    "stack": "stacks",
    "transport": "stacks, flashcrowd list utp",
}
"""Keys whose values are names, and which lists have them with a sentence each."""


def explain(
    key: Annotated[
        str,
        Parameter(help="Dotted path of a key, as in network.rtt; its end is enough, as in choker."),
    ],
) -> int:
    """Say what a key of a study means: what is allowed, the default, an example.

    Names of your own may be left out: network.groups.access is the access of any group.

    Exit status: 0, or 2 if there is no such key.
    """
    found = find(key)
    if not found:
        near = suggestions(key)
        hint = f'; did you mean "{near}"?' if near else ""
        print(f"{key}: no such key of a study{hint}", file=sys.stderr)
        return 2
    places = dict.fromkeys(one.text for one in found)
    if len(places) > 1 and len(found) > 1:
        wide = max(map(len, places))
        for line in dict.fromkeys(f"{one.text:<{wide}}  {one.meaning}" for one in found):
            print(line)
        return 0
    if len(found) > 1 and all(one.is_tag for one in found):
        print(_kinds(found))
        return 0
    for number, one in enumerate(found):
        print(("\n" if number else "") + _explained(one, several=len(found) > 1))
    return 0


def _kinds(found: Sequence[Key]) -> str:
    """The key that says which table stands at its place: all of them, one a line."""
    words = {one.allowed[0]: one.about for one in found}
    wide = max(map(len, words))
    rows = [("meaning", found[0].meaning)]
    rows += zip(
        ("allowed", *("" for _ in words)),
        (f"{word:<{wide}}  {about}".rstrip() for word, about in words.items()),
        strict=False,
    )
    rows.append(("example", f"{found[0].text} = {next(iter(words))}"))
    return "\n".join([found[0].text, *(f"  {label:<8} {text}" for label, text in rows)])


def _explained(key: Key, several: bool) -> str:
    rows = [("meaning", key.meaning), ("in", key.of if several else "")]
    rows += zip(("allowed", *("" for _ in key.allowed)), _allowed(key), strict=False)
    rows += [("default", key.default), ("keys", ", ".join(key.keys)), ("example", key.example)]
    if key.path[-1] in LISTS:
        rows.append(("names", f"flashcrowd list {LISTS[key.path[-1]]}"))
    lines = [f"  {label:<8} {text}" for label, text in rows if text]
    return "\n".join([key.text, *lines])


def _allowed(key: Key) -> list[str]:
    """Words in one row, everything else in a row of its own."""
    words = [word for word in key.allowed if word.startswith('"') and word.endswith('"')]
    others = [word for word in key.allowed if word not in words]
    return [*([", ".join(words)] if words else []), *others]
