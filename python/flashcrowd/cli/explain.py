"""`flashcrowd explain`."""

from __future__ import annotations

import sys
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
        for one in found:
            print(f"{one.text:<{wide}}  {one.meaning}")
        return 0
    for number, one in enumerate(found):
        print(("\n" if number else "") + _explained(one, several=len(found) > 1))
    return 0


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
