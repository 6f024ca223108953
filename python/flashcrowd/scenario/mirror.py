"""Between the tables of a file and the objects of a plan.

A plan has SI numbers in keys that end in their unit (`min_rto_ns`, `mtu_bytes`, `upload_bps`); a
file has texts with units in keys without (`min_rto = "200 ms"`). The type of a field says which
ending it has; a field whose key in the plan differs otherwise has a `PlanKey`, or an alias that
files and plans share.
"""

from __future__ import annotations

import json
import types
import typing
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Annotated, Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from flashcrowd.base.units import Quantity, Rate, Size, Span

Written = dict[str, Any]
"""A table as a file would write it."""

_ENDINGS: dict[type, str] = {Span: "_ns", Size: "_bytes", Rate: "_bps"}


@dataclass(frozen=True)
class Mirror:
    """On a field: how its value crosses, where the rules of this module do not say it."""

    to_plan: Callable[[Any], Any]
    from_plan: Callable[[Any], Any]


@dataclass(frozen=True)
class PlanKey:
    """On a field: its key in the plan."""

    key: str


def _mirror(info: FieldInfo) -> Mirror | None:
    return next((item for item in info.metadata if isinstance(item, Mirror)), None)


def kind_of(annotation: Any) -> Any:
    """The type of an annotation, without `Annotated` and `None`."""
    origin = typing.get_origin(annotation)
    if origin is Annotated:
        return kind_of(typing.get_args(annotation)[0])
    if origin in (types.UnionType, typing.Union):
        kinds = [kind_of(arg) for arg in typing.get_args(annotation) if arg is not type(None)]
        return kinds[0] if len(kinds) == 1 else annotation
    return annotation


def plan_key(name: str, info: FieldInfo) -> str:
    """The key of a field in the plan."""
    said = next((item.key for item in info.metadata if isinstance(item, PlanKey)), None)
    return said or info.serialization_alias or name + _ENDINGS.get(kind_of(info.annotation), "")


def plain(value: Any) -> Any:
    """A value as the plan has it."""
    if isinstance(value, BaseModel):
        return to_plan(value)
    if isinstance(value, Quantity):
        return int(value.amount) if value.whole else float(value.amount)
    if isinstance(value, list):
        return [plain(item) for item in value]
    return value


@cache
def _crossings(model: type[BaseModel]) -> tuple[tuple[str, str, Callable[[Any], Any]], ...]:
    """Of each field of a table its name, its key in the plan, and how its value crosses."""
    return tuple(
        (name, plan_key(name, info), mirror.to_plan if (mirror := _mirror(info)) else plain)
        for name, info in model.model_fields.items()
        if name != "base"
    )


def to_plan(model: BaseModel) -> dict[str, Any]:
    """A table as the plan has it, all but its `base`."""
    values = ((key, getattr(model, name), cross) for name, key, cross in _crossings(type(model)))
    return {key: None if value is None else cross(value) for key, value, cross in values}


def from_plan(model: type[BaseModel], given: dict[str, Any]) -> Written:
    """An object of a plan as a file would write it; keys that the table does not know are kept."""
    fields = {plan_key(name, info): (name, info) for name, info in model.model_fields.items()}
    made: Written = {}
    for key, value in given.items():
        name, info = fields.get(key, (key, None))
        if key != "name":
            made[name] = written(info, value) if info else value
    return made


def tables_from_plan(model: type[BaseModel], plain: str) -> dict[str, Written]:
    """The same for a JSON object of them, by name."""
    return {name: from_plan(model, given) for name, given in json.loads(plain).items()}


def written(info: FieldInfo, value: Any) -> Any:
    """A value of a plan as a file would write it."""
    mirror, kind = _mirror(info), kind_of(info.annotation)
    if value is None:
        return "none"
    if mirror:
        return mirror.from_plan(value)
    if isinstance(value, list):
        (item,) = typing.get_args(kind)
        return [written(FieldInfo.from_annotation(item), each) for each in value]
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return from_plan(kind, value)
    if isinstance(kind, type) and issubclass(kind, Quantity):
        # A number of a plan is the nearest to what a person wrote, and reads like it.
        return str(kind.of(Fraction(str(value))))
    return value
