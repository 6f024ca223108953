"""Writes the types of plans from their schema: `python -m tests.plan.plan_types`.

Tables stand in `flashcrowd.plan.types`. Lists of words stand in `flashcrowd.base.words`: scenarios
have them too.
"""

from __future__ import annotations

import json
import keyword
import re
from pathlib import Path
from typing import Any

from flashcrowd import _core, base, plan

FILE = Path(plan.__file__).with_name("types.py")
WORDS_FILE = Path(base.__file__).with_name("words.py")
HEAD = '''"""A plan as types: made from the structs of `crates/plan` by `make plan-types`."""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypeAlias, TypedDict

from flashcrowd.base.words import {words}

Settings: TypeAlias = dict[str, Any]
"""A table of settings, whose fields `_core.settings_schema` describes."""
'''
WORDS_HEAD = '''"""Words of plans: made from the enums of `crates/plan` by `make plan-types`."""

from __future__ import annotations

from typing import Literal, TypeAlias
'''
LEFT_OUT = {
    "Change.trace",
    "Link.trace",
    "Measures.capture",
    "Network.traces",
    *(f"Population.{key}" for key in ("answers_utp", "program", "storage", "upload_control")),
    "Tracker.program",
    "Workload.program",
    "Workload.web_seeds",
}
"""What a plan that Python lowers does not name where it is the usual. It has all other fields."""
SETTINGS = {"Config", "Config2", "Profile", "UploadControl", "Queue", "Scheduling", "Settings"}
"""Tables of settings: `_core.settings_schema` describes their fields."""
PLAIN = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}


class Types:
    """The types of a schema, each written once, behind those that it needs."""

    def __init__(self, schema: dict[str, Any]) -> None:
        schema = as_lowered(schema)
        self._defs: dict[str, dict[str, Any]] = schema["$defs"]
        self._written: dict[str, str] = {}
        self.named("Plan", schema)

    def texts(self) -> dict[Path, str]:
        """The modules."""
        words = {name: it for name, it in self._written.items() if "TypeAlias = Literal[" in it}
        tables = [it for name, it in self._written.items() if name not in words]
        head = HEAD.format(words=", ".join(sorted(words)))
        return {
            FILE: "\n\n".join([head, *tables]),
            WORDS_FILE: "\n".join([WORDS_HEAD, *words.values()]),
        }

    def named(self, name: str, it: dict[str, Any]) -> str:
        """Writes a type with a name."""
        if name not in self._written:
            is_table = "properties" in it and "oneOf" not in it
            self._written[name] = self._table(name, it, {}) if is_table else self._alias(name, it)
        return name

    def of(self, it: dict[str, Any], name: str) -> str:
        """What stands in an annotation; tables without a name get this one."""
        if "$ref" in it:
            target = it["$ref"].rsplit("/", 1)[1]
            if target in SETTINGS:
                return "Settings"
            found = self._defs[target]
            if "type" in found and found["type"] != "object" and "oneOf" not in found:
                return self.of(found, target)
            return self.named(target, found)
        if "const" in it:
            return f'Literal["{it["const"]}"]'
        if "anyOf" in it or "oneOf" in it:
            return " | ".join(self.of(one, name) for one in it.get("anyOf") or it["oneOf"])
        if isinstance(it["type"], list):
            return " | ".join(self.of({**it, "type": one}, name) for one in it["type"])
        if it["type"] == "array":
            if "prefixItems" in it:
                return f"tuple[{', '.join(self.of(one, name) for one in it['prefixItems'])}]"
            return f"list[{self.of(it['items'], name)}]"
        if it["type"] == "object":
            if "properties" in it:
                return self.named(name, it)
            return f"dict[str, {self.of(it['additionalProperties'], name)}]"
        return PLAIN[it["type"]]

    def _alias(self, name: str, it: dict[str, Any]) -> str:
        """One of several: words, or tables that a key tells apart."""
        words = [one["const"] for one in it.get("oneOf", []) if "const" in one]
        parts = [f"Literal[{', '.join(json.dumps(word) for word in words)}]"] if words else []
        shared = {key: it[key] for key in ("properties", "required") if key in it}
        for one in it.get("oneOf", []):
            if "const" not in one:
                tag = one["properties"].get("kind", {}).get("const") or next(
                    iter(one["properties"])
                )
                case = _capital(tag) + name
                self._written[case] = self._table(case, one, shared)
                parts.append(case)
        parts = parts or [self.of(it, name)]
        return f"{name}: TypeAlias = {' | '.join(parts)}\n"

    def _table(self, name: str, it: dict[str, Any], shared: dict[str, Any]) -> str:
        properties = {**shared.get("properties", {}), **it["properties"]}
        required = {*shared.get("required", []), *it.get("required", [])}
        rows = []
        for key, value in properties.items():
            kind = self.of(value, name + _capital(key))
            rows.append((key, kind if key in required else f"NotRequired[{kind}]"))
        first = re.split(r"(?<=\.)\s|\n\n", it.get("description", "A table of a plan."))[0]
        said = " ".join(re.sub(r"\[`(\w+)`\]", r"`\1`", first).split())
        if any(keyword.iskeyword(key) for key, _ in rows):
            fields = "".join(f"    {key!r}: {kind},\n" for key, kind in rows)
            return f"{name} = TypedDict({name!r}, {{\n{fields}}})\n" + f'"""{said}"""\n'
        fields = "".join(f"    {key}: {kind}\n" for key, kind in rows)
        return f"class {name}(TypedDict):\n{fields}"


def as_lowered(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema of the plans that Python lowers: engines also read plans with fewer fields."""
    defs = {
        name: it if name in SETTINGS else _complete(it, name)
        for name, it in schema["$defs"].items()
    }
    return {**_complete({**schema, "$defs": {}}, "Plan"), "$defs": defs}


def _complete(it: Any, name: str) -> Any:
    """All fields of the tables of a definition are required, but for those left out."""
    if isinstance(it, list):
        return [_complete(one, name) for one in it]
    if not isinstance(it, dict):
        return it
    inside = {key: _complete(value, name) for key, value in it.items()}
    if isinstance(it.get("properties"), dict):
        inside["required"] = [key for key in it["properties"] if f"{name}.{key}" not in LEFT_OUT]
    return inside


def _capital(word: str) -> str:
    return "".join(part.capitalize() for part in re.split(r"[-_]", word))


def written() -> dict[Path, str]:
    """The modules as they are to be, before formatting."""
    return Types(json.loads(_core.plan_schema())).texts()


if __name__ == "__main__":
    for file, text in written().items():
        file.write_text(text, encoding="utf-8")
