"""`flashcrowd explain`."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated

from cyclopts import Parameter

from flashcrowd.autolimit import states
from flashcrowd.base import metrics, paths
from flashcrowd.base.units import UnitError
from flashcrowd.study.catalogue import KINDS, Kind, kind_of
from flashcrowd.study.counterparts import counterparts
from flashcrowd.study.explain import Key, every_key, find, suggestions, written
from flashcrowd.study.search import search

MOST = 12
"""A search shows this number of results, and a name this number of values outside comparisons."""

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
        Parameter(
            help="Dotted path of a key, as in network.rtt; its end is enough, as in choker. Or a "
            "name, as in libtorrent or codel; a measure; a setting of a real client; a state of "
            "autolimit, as in holding; or words."
        ),
    ],
    /,
    *words: Annotated[str, Parameter(help="More words to search for.")],
) -> int:
    """Say what a key of a study means: what is allowed, the default, an example.

    Names of your own may be left out: network.groups.access is the access of any group. A name
    from `flashcrowd list` is described by its settings, a measure of a report by how it is
    observed. Other words are searched for.

    Exit status: 0, or 2 if nothing is found.
    """
    asked = " ".join([key, *words])
    parts = [*_of_key(asked), *_of_names(asked), *_of_measures(asked), *_of_clients(asked)]
    parts += _of_states(asked)
    if not parts and (len(paths.parse(asked) or []) < 2 or words):
        parts = _of_kinds(asked) or _searched(asked)
    if not parts:
        print(_not_found(asked), file=sys.stderr)
        return 2
    print("\n\n".join(parts))
    return 0


def _of_key(path: str) -> list[str]:
    found = find(path)
    if not found:
        return []
    if len({one.text for one in found}) > 1:
        return [_table(dict.fromkeys((one.text, one.meaning) for one in found))]
    if len(found) > 1 and all(one.is_tag for one in found):
        return [_kinds(found)]
    return [_explained(one, several=len(found) > 1) for one in found]


def _table(rows: Iterable[tuple[str, str]]) -> str:
    rows = [*rows]
    wide = max(len(name) for name, _ in rows)
    return "\n".join(f"{name:<{wide}}  {text}".rstrip() for name, text in rows)


def _of_names(name: str) -> list[str]:
    """Entries of this name in each list of `flashcrowd list`, and a list of this name."""
    parts = []
    for kind in KINDS.values():
        if kind.name == name:
            rows = [("names", ", ".join(kind.entries())), ("all", f"flashcrowd list {kind.name}")]
            parts.append(_rows(f"{kind.name} ({kind.where})", rows))
        called = next((it for it in kind.entries() if it.lower() == name.lower()), None)
        if called is not None:
            parts.append(_named(kind, called))
    return parts


def _named(kind: Kind, name: str) -> str:
    rows = [("meaning", kind.entries()[name])]
    table = next((it for it in kind.tables if kind_of(it) == name), None)
    if table is not None:
        keys = [Key((it,), table, it) for it in table.model_fields if it != "kind"]
        rows += _labelled("keys", (f"{it.text} = {it.default}" for it in keys))
    settings = _flat(kind.settings().get(name, {}))
    usual = find(kind.default)[0].default.strip('"') if kind.default else ""
    if usual == name:
        rows.append(("default", f"of {kind.default}"))
    elif usual:
        others = _flat(kind.settings()[usual])
        own = {key: it for key, it in settings.items() if others.get(key) != it}
        rows += _labelled(f'not as "{usual}"', (f"{key} = {it}" for key, it in own.items()))
    elif len(settings) <= MOST:
        rows += _labelled("values", (f"{key} = {it}" for key, it in settings.items()))
    if settings:
        rows.append(("all", f"flashcrowd list {kind.name} {shlex.quote(name)}"))
    return _rows(f"{name} ({kind.name}: {kind.where})", rows)


def _flat(table: Mapping[str, object], before: str = "") -> dict[str, str]:
    """The values of a table and of those in it, by path, as a study file has them."""
    found: dict[str, str] = {}
    for key, value in table.items():
        if isinstance(value, Mapping):
            found |= _flat(value, f"{before}{key}.")
        else:
            found[before + key] = written(value)
    return found


def _of_measures(text: str) -> list[str]:
    """The meaning of a measure, as a report names it."""
    try:
        named = metrics.parse(text.lower())
    except UnitError:
        return []
    found = named.metric
    better = {"less": "lower is better", "more": "higher is better"}.get(found.better, "")
    rows = [
        ("meaning", found.meaning),
        ("run", f"{metrics.said(named.statistic)} of each run" if found.many else "one number"),
        ("unit", found.unit),
        ("of", ", ".join((found.kind, *found.others))),
        ("better", better),
    ]
    least = f"at least {100 * metrics.SHARE:g} % of the number"
    if found.matters:
        unit = "percentage points" if found.unit == "%" else found.unit
        least = f"at least {found.matters:g} {unit}, and {least}"
    rows.append(("matters", f"a difference of {least}"))
    rows.append(("example", f'report.headline = ["{named}"]'))
    return [_rows(f"{named} (a measure)", [row for row in rows if row[1]])]


def _of_clients(name: str) -> list[str]:
    """The settings of real clients of this name."""
    parts = []
    called: dict[tuple[str, str], list[str]] = {}
    for it in counterparts():
        if it.name.lower() == name.lower():
            called.setdefault((it.key, it.said), []).append(it.program)
    for (key, said), programs in called.items():
        heading = f"{name} (a setting of {' and '.join(programs)})"
        rows = [("here", key or said)]
        parts.append(_rows(heading, rows))
        parts += _of_key(key) if key else []
    return parts


def _of_states(text: str) -> list[str]:
    """The meaning of a phase or a reason of `flashcrowd autolimit`."""
    phases: dict[str, list[tuple[str, str]]] = {}
    for phase, reason, meaning in states.called(text):
        phases.setdefault(phase, []).append((f"{reason} ", meaning))
    return [_rows(f"{phase} (a state of autolimit)", rows) for phase, rows in phases.items()]


def _of_kinds(name: str) -> list[str]:
    """A table of this kind, at each place where it is allowed, and its keys."""
    word, parts = "-".join(name.lower().split()), dict[str, None]()
    if _of_names(word):
        return []
    for tag in every_key():
        if tag.is_tag and tag.info.default == word:
            others = (it for it in tag.table.model_fields if it != tag.name)
            keys = [Key((it,), tag.table, it) for it in others]
            rows = [
                ("meaning", tag.about),
                *_labelled("keys", (f"{it.text}: {it.meaning}" for it in keys)),
            ]
            parts[_rows(f"{word} (a kind of {'.'.join(tag.path[:-1])})", rows)] = None
    return [*parts]


def _searched(words: str) -> list[str]:
    found = search(words)
    if not found:
        return []
    rows = [(it.text, it.about) for it in found[:MOST]]
    heading = f"{words}: nothing is called so. A search found:"
    more = len(found) - MOST
    last = [f"{more} more: another word narrows the search"] if more > 0 else []
    return [heading, _table(rows), *last]


def _not_found(asked: str) -> str:
    near = suggestions(asked)
    hint = f'; did you mean "{near}"?' if near else ""
    plain = " ".join(paths.parse(asked) or [])
    if plain != asked and search(plain):
        hint += f" `flashcrowd explain {shlex.join(plain.split())}` searches for the words."
    return f"{asked}: no such key of a study, no such name, and no setting of a client{hint}"


def _labelled(label: str, lines: Iterable[str]) -> list[tuple[str, str]]:
    """A label in front of the first of some lines."""
    return [(label * (number == 0), line) for number, line in enumerate(lines)]


def _rows(heading: str, rows: Sequence[tuple[str, str]]) -> str:
    wide = max(8, *(len(label) for label, _ in rows))
    return "\n".join([heading, *(f"  {label:<{wide}} {text}".rstrip() for label, text in rows)])


def _kinds(found: Sequence[Key]) -> str:
    """The key that says which table is at its place: all of them, one a line."""
    words = {one.allowed[0]: one.about for one in found}
    wide = max(map(len, words))
    rows = [("meaning", found[0].meaning)]
    rows += zip(
        ("allowed", *("" for _ in words)),
        (f"{word:<{wide}}  {about}".rstrip() for word, about in words.items()),
        strict=False,
    )
    rows.append(("example", f"{found[0].text} = {next(iter(words))}"))
    return _rows(found[0].text, rows)


def _explained(key: Key, several: bool) -> str:
    rows = [("meaning", key.meaning), ("in", key.of if several else "")]
    rows += zip(("allowed", *("" for _ in key.allowed)), _allowed(key), strict=False)
    rows += [("default", key.default), ("keys", ", ".join(key.keys)), ("example", key.example)]
    if key.path[-1] in LISTS:
        rows.append(("names", f"flashcrowd list {LISTS[key.path[-1]]}"))
    values = (f"{value}  {', '.join(names)}" for value, names in key.shipped.items())
    rows += _labelled("shipped", values)
    called = [f"{it.name} ({it.program})" for it in counterparts() if it.key == key.text]
    rows.append(("clients", ", ".join(called)))
    return _rows(key.text, [(label, text) for label, text in rows if text])


def _allowed(key: Key) -> list[str]:
    """Words in one row, everything else in a row of its own."""
    words = [word for word in key.allowed if word.startswith('"') and word.endswith('"')]
    others = [word for word in key.allowed if word not in words]
    return [*([", ".join(words)] if words else []), *others]
