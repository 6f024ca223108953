"""Which keys a table may have, and what they mean, found by its place in a document."""

from __future__ import annotations

import typing
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from flashcrowd.scenario.descriptions import descriptions
from flashcrowd.scenario.fields import Shorthand

Place = Sequence[str | int]

_TAGS = ("kind", "name")


def keys_at(model: type[BaseModel], place: Place, given: Any) -> list[str]:
    """The keys that the table at `place` of the document `given` may have."""
    keys: dict[str, None] = {}
    for table in _tables(model, place, given):
        for name, info in table.model_fields.items():
            keys[info.alias or name] = None
    return list(keys)


def meaning(model: type[BaseModel], place: Place) -> str:
    """The first line about the key at `place`."""
    for table in _tables(model, place[:-1], None):
        for name, info in table.model_fields.items():
            if place[-1] in (name, info.alias) and name in descriptions(table):
                return descriptions(table)[name].split("\n")[0]
    return ""


def plain_key(model: type[BaseModel], place: Place) -> str:
    """The key that a plain value at `place` is of; empty where only a table may be there."""
    for table in _tables(model, place[:-1], None):
        for name, info in table.model_fields.items():
            if place[-1] in (name, info.alias):
                found = (it.key for it in info.metadata if isinstance(it, Shorthand))
                return next(found, "")
    return ""


class _Named:
    """Stands for a table of named tables: the next segment is a name."""

    def __init__(self, values: Any) -> None:
        self.values = values


def _tables(model: type[BaseModel], place: Place, given: Any) -> list[type[BaseModel]]:
    """The models that the table at `place` may follow: one, or all members of a union."""
    found: list[type[BaseModel] | _Named] = [model]
    for segment in place:
        if isinstance(segment, int):  # of a list: as its annotation is, which `_models` has opened
            given = given[segment] if isinstance(given, Sequence) else None
            found = _of_kind(found, given)
            continue
        given = given.get(segment) if isinstance(given, Mapping) else None
        found = _of_kind([below for table in found for below in _below(table, segment)], given)
    return [table for table in found if not isinstance(table, _Named)]


def _below(table: type[BaseModel] | _Named, segment: str | int) -> Iterable[Any]:
    if isinstance(table, _Named):
        yield from _models(table.values)
        return
    for name, info in table.model_fields.items():
        if segment in (name, info.alias):
            yield from _models(info.annotation)


def _models(annotation: Any) -> Iterable[Any]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    elif typing.get_origin(annotation) is dict:
        yield _Named(typing.get_args(annotation)[1])
    else:
        for argument in typing.get_args(annotation):
            yield from _models(argument)


def _of_kind(tables: list[Any], given: Any) -> list[Any]:
    """Of several models, those of the kind that the table has, if it has one."""
    same = [
        table
        for table in tables
        if isinstance(given, Mapping)
        and not isinstance(table, _Named)
        and (tag := tag_of(table)) is not None
        and table.model_fields[tag].default == given.get(tag)
    ]
    return same or tables


def tag_of(table: type[BaseModel]) -> str | None:
    """The key by which a file chooses this table among others that are allowed at its place."""
    return next((key for key in _TAGS if _is_one_word(table.model_fields.get(key))), None)


def _is_one_word(info: FieldInfo | None) -> bool:
    return info is not None and info.annotation == Literal[info.default]
