"""The JSON Schema of study files."""

from __future__ import annotations

from typing import Any

from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue

from flashcrowd.scenario.descriptions import descriptions
from flashcrowd.study.study import Study

DIALECT = "https://json-schema.org/draft/2020-12/schema"


class _Described(GenerateJsonSchema):
    """Writes beside each key what it means."""

    def model_schema(self, schema: Any) -> JsonSchemaValue:
        """The schema of a table."""
        made = super().model_schema(schema)
        texts = descriptions(schema["cls"])
        for name, info in schema["cls"].model_fields.items():
            if name in texts:
                made["properties"][info.alias or name]["description"] = texts[name]
        return made


def study_schema() -> dict[str, Any]:
    """The JSON Schema of study files: keys, units and choices, but no references.

    It accepts every file that `flashcrowd check` accepts; `check` finds more.
    """
    schema = Study.model_json_schema(by_alias=True, mode="validation", schema_generator=_Described)
    schema["required"] = ["format", *schema.get("required", [])]
    for variant in ("Stack", "Utp", "Profile"):
        _make_partial(schema["$defs"], variant)
    return {"$schema": DIALECT, **_relaxed(schema)}


def _make_partial(definitions: dict[str, Any], name: str) -> None:
    """Frees a table and all tables in it of required keys: its base gives what is left out."""
    definition = definitions[name]
    definition.pop("required", None)
    for value in definition.get("properties", {}).values():
        for reference in _references(value):
            if "kind" not in definitions[reference].get("properties", {}):
                _make_partial(definitions, reference)


def _references(value: Any) -> list[str]:
    if isinstance(value, dict):
        own = [value["$ref"].rpartition("/")[2]] if "$ref" in value else []
        return own + [found for item in value.values() for found in _references(item)]
    if isinstance(value, list):
        return [found for item in value for found in _references(item)]
    return []


def _relaxed(value: Any) -> Any:
    """Makes choices inclusive: a word may be allowed by two members of a union."""
    if isinstance(value, dict):
        relaxed = {key: _relaxed(item) for key, item in value.items() if key != "discriminator"}
        return {"anyOf" if key == "oneOf" else key: item for key, item in relaxed.items()}
    return [_relaxed(item) for item in value] if isinstance(value, list) else value
