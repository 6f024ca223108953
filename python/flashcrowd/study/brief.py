"""The parts of a study that differ from the defaults."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel
from pydantic_core import PydanticUndefined

from flashcrowd.scenario import LINES, Line, Profile, Stack, Stop, Trace, shipped
from flashcrowd.scenario.distribution import (
    LossDistribution,
    RttDistribution,
    SessionDistribution,
)
from flashcrowd.scenario.utp import Utp
from flashcrowd.study.study import Study


def brief(study: Study) -> dict[str, Any]:
    """The content of a study file without what it has by default.

    It means the same study: read back beside its files, it has the same fingerprint.
    """
    return {"format": study.format, **_table(study, study.model_dump(mode="json", by_alias=True))}


def _table(table: BaseModel, document: dict[str, object]) -> dict[str, object]:
    """The keys of a table, as `document` has it, that differ from the defaults."""
    kept: dict[str, object] = {}
    before: dict[str, object] = {}
    for name, info in type(table).model_fields.items():
        value = before[name] = getattr(table, name)
        key = info.alias or name
        usual = info.get_default(call_default_factory=True, validated_data=dict(before))
        said = isinstance(table, Stop) and name in table.model_fields_set
        if usual is PydanticUndefined or value != usual or name == "kind" or said:
            kept[key] = _value(value, document[key])
    return kept


def _value(value: Any, document: Any) -> Any:
    if isinstance(value, Line):
        return _line(value, document)
    if isinstance(value, Trace):
        end = {} if value.end == "repeat" else {"end": value.end}
        return {"file": value.file, **_rows(value.rows), **end}
    if isinstance(value, RttDistribution | LossDistribution | SessionDistribution) and value.file:
        return {"kind": value.kind, "file": value.file, **_rows(value.rows)}
    if isinstance(value, Stack | Utp | Profile):
        return _variant(value, document)
    if isinstance(value, BaseModel):
        return _table(value, document)
    if isinstance(value, Mapping) and all(isinstance(it, BaseModel) for it in value.values()):
        return {name: _value(it, document[name]) for name, it in value.items()}
    return document


def _rows(rows: int | None) -> dict[str, int]:
    return {} if rows is None else {"rows": rows}


def _line(line: Line, document: dict[str, object]) -> Any:
    """A line: its name, or its name and what it has otherwise."""
    if line.line not in LINES:
        return _table(line, document)
    usual = Line.model_validate({"line": line.line}).model_dump(mode="json", by_alias=True)
    own = _other(document, usual)
    return {"line": line.line, **own} if own else line.line


def _variant(table: Stack | Utp | Profile, document: dict[str, object]) -> dict[str, object]:
    """A stack, a uTP configuration or a client: its base, and what it has otherwise."""
    all_of = {Stack: shipped.stacks, Utp: shipped.utps, Profile: shipped.profiles}[type(table)]()
    base = {"base": table.base, **all_of[table.base]}
    usual = type(table).model_validate(base).model_dump(mode="json", by_alias=True)
    ledbat = {}
    if isinstance(document.get("ledbat"), dict):  # it comes with the controller
        own = shipped.unsteered(document, table.base, all_of)
        document, ledbat = ({key: it for key, it in own.items() if key != "ledbat"}, own)
    said = {"ledbat": ledbat["ledbat"]} if "ledbat" in ledbat else {}
    return {"base": table.base, **_other(document, usual), **said}


def _other(document: dict[str, object], usual: dict[str, object]) -> dict[str, object]:
    """The values that are not the usual ones."""
    found: dict[str, object] = {}
    for key, value in document.items():
        other = usual.get(key)
        if isinstance(value, dict) and isinstance(other, dict) and "kind" not in value:
            below = _other(value, other)
            if below:
                found[key] = below
        elif value != other:
            found[key] = value
    return found
