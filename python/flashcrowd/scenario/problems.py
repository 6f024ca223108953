"""From the validator's findings to problems that name the place."""

from __future__ import annotations

import json
import typing
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ValidationError

from flashcrowd.errors import MISSING, Problem, did_you_mean, one_of
from flashcrowd.scenario import paths
from flashcrowd.units import UnitError

_TYPES = {
    "int_type": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "string_type": "a text in quotes",
    "list_type": "a list",
    "tuple_type": "a list",
    "dict_type": "a table",
    "model_type": "a table",
    "model_attributes_type": "a table",
    "finite_number": "a finite number",
}


def problems_of(error: ValidationError, model: type[BaseModel], given: Any) -> list[Problem]:
    """What a `ValidationError` of `model` found in the document `given`."""
    return [_problem(dict(item), model, given) for item in error.errors(include_url=False)]


def shown(value: Any) -> str:
    """A value as the file has it, cut if long."""
    if isinstance(value, BaseModel):
        value = value.model_dump(mode="json", by_alias=True)
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 60 else text[:57] + "..."


def _problem(item: dict[str, Any], model: type[BaseModel], given: Any) -> Problem:
    kind: str = item["type"]
    context = item.get("ctx", {})
    is_name = item["loc"][-1:] == ("[key]",)
    place = _place(item["loc"], given, missing=kind == "missing")
    path = paths.join(place)
    value = MISSING if kind == "missing" else shown(place[-1] if is_name else item["input"])
    allowed = _TYPES.get(kind) or str(item["msg"])
    hint = ""
    cause = context.get("error")
    if isinstance(cause, UnitError):
        allowed, hint = cause.allowed, cause.hint
    elif kind == "missing":
        allowed, hint = "this key is needed", _meaning(model, place)
    elif kind == "extra_forbidden":
        keys = keys_at(model, place[:-1], given)
        allowed, hint = one_of(keys, 40), did_you_mean(str(place[-1]), keys)
        allowed = f"no such key here; {allowed}"
    elif kind in ("literal_error", "union_tag_invalid"):
        options = _quoted(context.get("expected") or context["expected_tags"])
        if kind == "union_tag_invalid":
            value = shown(context["tag"])
            path = _with_kind(path, item["input"])
        allowed, hint = one_of(options), did_you_mean(value.strip('"'), options)
    elif kind == "union_tag_not_found":
        path, value = f"{path}.kind", MISSING
        allowed = "this key is needed; it says of what kind the table is"
    elif kind == "string_pattern_mismatch":
        allowed = 'a name of letters, digits, "-" and "_" that begins with a letter'
    elif kind in ("too_short", "too_long"):
        allowed = (
            f"at least {context.get('min_length', 1)} of them"
            if kind == "too_short"
            else (f"at most {context['max_length']} of them")
        )
    elif kind.startswith(("greater_than", "less_than")):
        allowed = "a number " + item["msg"].removeprefix("Input should be ")
    elif kind.startswith("value_error"):
        allowed = str(cause)
    return Problem(path, value, allowed, hint)


def _quoted(text: str) -> list[str]:
    """The words between single quotes."""
    return text.split("'")[1::2]


def _with_kind(path: str, given: Any) -> str:
    return f"{path}.kind" if isinstance(given, dict) and "kind" in given else path


def _place(location: Sequence[str | int], given: Any, *, missing: bool) -> list[str | int]:
    """The location without what the validator adds to tell apart the members of a union."""
    place: list[str | int] = []
    last = len(location) - 1
    for index, segment in enumerate(location):
        if segment == "[key]":
            break
        known = isinstance(given, Mapping) and segment in given
        listed = isinstance(given, Sequence) and isinstance(segment, int) and segment < len(given)
        if known or listed:
            place.append(segment)
            given = given[segment]  # type: ignore[index]
        elif missing and index == last:
            place.append(segment)
    return place


def keys_at(model: Any, place: Sequence[str | int], given: Any) -> list[str]:
    """The keys that the table at `place` may have."""
    found: list[Any] = [model]
    for segment in place:
        given = given.get(segment) if isinstance(given, Mapping) else None
        found = [inner for kind in found for inner in _below(kind, segment)]
        found = _of_kind(found, given)
    keys: dict[str, None] = {}
    for kind in found:
        for name, info in kind.model_fields.items():
            keys[info.validation_alias or info.alias or name] = None
    return [str(key) for key in keys]


def _of_kind(models: list[Any], given: Any) -> list[Any]:
    """Of several models, those whose `kind` the table has, if it has one."""
    kind = given.get("kind") if isinstance(given, Mapping) else None
    named = [
        model
        for model in models
        if "kind" in model.model_fields and model.model_fields["kind"].default == kind
    ]
    return named or models


def _below(model: Any, segment: str | int) -> Iterable[Any]:
    for name, info in model.model_fields.items():
        if segment in (name, info.alias):
            yield from _models(info.annotation)
            return
    # A named table: its values' models are asked for, its name is any.
    if isinstance(model, _Named):
        yield from _models(model.values)


class _Named:
    """Stands for `dict[name, table]`: the next segment is a name."""

    model_fields: typing.ClassVar[dict[str, Any]] = {}

    def __init__(self, values: Any) -> None:
        self.values = values


def _models(annotation: Any) -> Iterable[Any]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    elif typing.get_origin(annotation) is dict:
        yield _Named(typing.get_args(annotation)[1])
    else:
        for argument in typing.get_args(annotation):
            yield from _models(argument)


def _meaning(model: type[BaseModel], place: Sequence[str | int]) -> str:
    """The first sentence about the key at `place`."""
    found: list[Any] = [model]
    for segment in place[:-1]:
        found = [inner for kind in found for inner in _below(kind, segment)]
    for kind in found:
        for name, info in kind.model_fields.items():
            if place[-1] in (name, info.alias) and info.description:
                return info.description.split("\n")[0]
    return ""
