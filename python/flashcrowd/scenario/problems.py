"""From the validator's findings to problems that name the place."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pydantic import BaseModel, ValidationError

from flashcrowd.base import paths
from flashcrowd.base.errors import MISSING, MOST, Problem, did_you_mean, nearest, one_of, visible
from flashcrowd.base.units import UnitError
from flashcrowd.scenario.keys import keys_at, meaning, plain_key

_ALLOWED = {
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "finite_number": "a number",
    "bool_type": "true or false",
    "string_type": "a text in quotes",
    "list_type": "a list",
    "tuple_type": "a list",
    "dict_type": "a table",
    "model_type": "a table",
    "model_attributes_type": "a table",
    "too_short": "at least {min_length} of them",
    "too_long": "at most {max_length} of them",
    "string_too_short": "a text that is not empty",
    "string_too_long": "a text of at most {max_length} characters",
    "greater_than": "a number of more than {gt}",
    "greater_than_equal": "a number of at least {ge}",
    "less_than": "a number of less than {lt}",
    "less_than_equal": "a number of at most {le}",
    "string_pattern_mismatch": 'a name of letters, digits, "-" and "_", first a letter',
    "union_tag_not_found": "this key is needed; it says of what kind the table is",
}
"""The allowed values, by the validator's kind of error; its context fills the braces."""

_NUMBERS = ("int_type", "float_type")
"""Those of a value that is no number."""

_CONSEQUENCE = "default_factory_not_called"
"""The validator's note that a default was not made because of another mistake."""


def problems_of(error: ValidationError, model: type[BaseModel], given: Any) -> list[Problem]:
    """The mistakes of a `ValidationError` of `model` in the document `given`.

    To find the nearest key takes a millisecond: this is for those that are shown of a long list.
    """
    items = [dict(it) for it in error.errors(include_url=False) if it["type"] != _CONSEQUENCE]
    kept = [item for item in items if not _is_misspelt(item, items)]
    return [_problem(item, model, given, at < MOST) for at, item in enumerate(kept)]


def _is_misspelt(item: Mapping[str, Any], items: Sequence[Mapping[str, Any]]) -> bool:
    """Whether a missing key is there under a near name, which is refused already."""
    return item["type"] == "missing" and any(
        other["type"] == "extra_forbidden"
        and other["loc"][:-1] == item["loc"][:-1]
        and nearest(str(other["loc"][-1]), [str(item["loc"][-1])])
        for other in items
    )


def shown(value: Any) -> str:
    """A value as the file has it, cut if long."""
    if isinstance(value, BaseModel):
        value = value.model_dump(mode="json", by_alias=True)
    text = visible(json.dumps(value, ensure_ascii=False, default=str))
    return text if len(text) <= 60 else text[:57] + "..."


def unknown(
    path: str, name: str, what: str, names: Iterable[str], *, makes: Sequence[str] = ()
) -> Problem:
    """A name that nothing has.

    Args:
        path: where it stands.
        name: the name.
        what: what is allowed there.
        names: the names that there are.
        makes: tables of the file in which a table of this name would make one.
    """
    names = list(names)
    which = one_of(names) if names else "there is none"
    hint = did_you_mean(name, names)
    if makes and not hint and name != "inherit":
        tables = " or ".join(f"[{paths.join((it, name))}]" for it in makes)
        hint = f"{tables} with a `base` makes one"
    return Problem(path, shown(name), f"{what}: {which}", hint)


def unknown_group(path: str, name: str, what: str, names: Iterable[str]) -> Problem:
    """A name that no group has, and no host if one may stand there."""
    problem = unknown(path, name, what, names)
    table = paths.join(("network", "groups", name))
    return problem if problem.hint else replace(problem, hint=f"[{table}] makes a group")


def _problem(item: dict[str, Any], model: type[BaseModel], given: Any, hinted: bool) -> Problem:
    kind: str = item["type"]
    context: dict[str, Any] = item.get("ctx", {})
    place = _place(item["loc"], given, missing=kind == "missing")
    path, value = paths.join(place), shown(item["input"])
    cause = context.get("error")
    if isinstance(cause, UnitError):
        inside = cause.key.split(".") if cause.key else []
        with contextlib.suppress(KeyError):
            value = shown(paths.look_up(item["input"], inside))
        return Problem(paths.join([*place, *inside]), value, cause.allowed, cause.hint)
    if kind == "missing":
        allowed = "one more item" if isinstance(place[-1], int) else "this key is needed"
        return Problem(path, MISSING, allowed, meaning(model, place))
    if kind == "extra_forbidden":
        keys = keys_at(model, place[:-1], given)
        hint = ""
        if hinted:
            hint = _one_level_below(model, place, given) or did_you_mean(str(place[-1]), keys)
        return Problem(path, value, f"no such key here; {one_of(keys, 40)}", hint)
    if kind == "literal_error":
        return _choice(path, value, context["expected"])
    if kind == "union_tag_invalid":
        tag = _tag(context)
        named = isinstance(item["input"], dict) and tag in item["input"]
        where = f"{path}.{tag}" if named else path
        return _choice(where, shown(context["tag"]), context["expected_tags"])
    if kind == "union_tag_not_found":
        path, value = f"{path}.{_tag(context)}", MISSING
    elif kind == "string_pattern_mismatch" and item["loc"][-1] == "[key]":
        value = shown(place[-1])
    allowed = _ALLOWED[kind].format(**context) if kind in _ALLOWED else str(cause or item["msg"])
    return Problem(path, value, allowed, _number(item["input"]) if kind in _NUMBERS else "")


def _number(value: object) -> str:
    """The number that a text begins with, where a unit or quotes are too much."""
    match = re.match(r"\s*([0-9]+(?:\.[0-9]+)?)(?![0-9.])", str(value))
    return f"write {match[1]}" if match and isinstance(value, str) else ""


def _one_level_below(model: type[BaseModel], place: Sequence[str | int], given: Any) -> str:
    """A hint where a key is next to the table that it belongs into."""
    *above, key = place
    table = given
    for segment in above:
        table = table[segment]
    below = [[*above, at] for at in keys_at(model, above, given)]
    tables = [at for at in below if key in keys_at(model, at, given)]
    if len(tables) != 1 or not isinstance(table, Mapping) or key not in table:
        return ""
    (at,) = tables
    name, plain = at[-1], plain_key(model, at)
    there = table.get(name)
    if not plain or isinstance(there, Mapping | BaseModel):
        return f"it belongs into {name}: {paths.join([*at, key])}"
    old = f"{plain} = {shown(there)}, " if there is not None else ""
    new = "…" if isinstance(table[key], Mapping) else shown(table[key])
    return f"it belongs into {name}: {name} = {{ {old}{key} = {new} }}"


def _tag(context: Mapping[str, Any]) -> str:
    """The key by which a file chooses among several kinds of tables."""
    said: str = context["discriminator"]
    return said.strip("'") if said.startswith("'") else "kind"


def _choice(path: str, value: str, expected: str) -> Problem:
    """A value that is none of those that `expected` has between single quotes."""
    options = expected.split("'")[1::2]
    return Problem(path, value, one_of(options), did_you_mean(value.strip('"'), options))


def _place(location: Sequence[str | int], given: Any, *, missing: bool) -> list[str | int]:
    """The location without what the validator adds to tell apart the members of a union."""
    place: list[str | int] = []
    last = len(location) - 1
    for index, segment in enumerate(location):
        known = isinstance(given, Mapping) and segment in given
        listed = isinstance(given, Sequence) and isinstance(segment, int) and segment < len(given)
        if known or listed:
            place.append(segment)
            given = given[segment]  # type: ignore[index]
        elif missing and index == last:
            place.append(segment)
    return place
