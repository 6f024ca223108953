"""Tables that the engine defines, made from the JSON Schema of its types.

A field is defined in Rust, with its meaning, its bounds and its default (`settings!` in
`crates/base`). Here it becomes a field of a table: a quantity where the plan has a number in a key
that ends in its unit, a word where it has an enumeration, a table where it has one. A keyword of
the schema says what a study file does otherwise:

- `key`: the field's name in files.
- `unit`: "share" for a number that is written in per cent, "bytes" for a size.
- `none`: the word for no value, if it is not "none".
- `true`, `false`: words for which these values are another writing.

An enumeration whose variants carry values is a table with a `kind`, which may be left out where the
other keys determine it. If one variant has a single value, that value may replace its table. If the
others are words, the value is all there is.
"""

from __future__ import annotations

import json
import operator
from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Discriminator,
    Field,
    TypeAdapter,
    ValidationError,
    create_model,
    model_validator,
)
from pydantic.fields import FieldInfo

from flashcrowd import _core
from flashcrowd.base.errors import did_you_mean
from flashcrowd.base.units import Quantity, Rate, Share, Size, Span, UnitError
from flashcrowd.scenario.fields import (
    PositiveRate,
    Probability,
    Table,
    Within,
    Word,
    positive,
    shorthand,
)
from flashcrowd.scenario.framing import Framing
from flashcrowd.scenario.mirror import Mirror, PlanKey, from_plan, plain, plan_key, to_plan, written

Schema = Mapping[str, Any]
"""A JSON Schema with the keywords above; its keys depend on its `type`."""

_SCHEMA: Schema = json.loads(_core.settings_schema())
_DEFINITIONS: Mapping[str, Schema] = _SCHEMA["$defs"]

KINDS: Mapping[str, Sequence[str]] = _SCHEMA["kinds"]
"""The tables that each a "queue", a "policy" or a "disk" may be, in the order of lists."""

_KNOWN: dict[str, Any] = {
    "Span": Span,
    "Rate": PositiveRate,
    "Probability": Probability,
    "Framing": Annotated[Framing, Mirror(Framing.to_plan, str)],
}
"""Types of the engine that have a type here."""

_ENDINGS: dict[str, type[Quantity]] = {"_ns": Span, "_bytes": Size, "_bps": Rate}
_UNITS: dict[str, type[Quantity]] = {"share": Share, "bytes": Size}

_LIMITS = {"minimum": "ge", "exclusiveMinimum": "gt", "maximum": "le"}

_MOST = 2**31
"""The greatest number of 32 bits in a file: the engine adds to some."""


class Described(Table):
    """A table of the engine."""

    ordered: ClassVar[tuple[tuple[str, str], ...]] = ()
    """Keys, each with another one that it must not be below."""
    notes: ClassVar[Mapping[str, str]] = {}
    """The engine's text on a key after the first paragraph: sources and details."""
    checked_as: ClassVar[str] = ""
    """The engine's name of it, if it has rules between fields."""

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        for name, least in self.ordered:
            value, bound = getattr(self, name), getattr(self, least)
            if value is not None and value < bound:
                noun = value.noun if isinstance(value, Quantity) else "a number"
                raise UnitError(f"{noun} of at least {least}, {bound}", key=name)
        return self

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.checked_as:
            name = {"name": self.checked_as} if isinstance(self, Variant) else {}
            refused = _core.check_settings(self.checked_as, json.dumps(name | to_plan(self)))
            if refused is not None:
                path, allowed = refused
                raise UnitError(allowed, key=".".join(_keys(self, path.split("."))))
        return self


def _keys(value: Any, path: list[str]) -> list[str]:
    """A path of the plan as the file has it; the names of variants are no part of it."""
    found: list[str] = []
    for segment in path:
        fields = type(value).model_fields if isinstance(value, Table) else {}
        name = next((name for name, info in fields.items() if plan_key(name, info) == segment), "")
        if name:
            found.append(name)
            value = getattr(value, name)
    return found


def described(
    table: str,
    scope: dict[str, object],
    parent: type[Table],
    known: Mapping[str, Any] | None = None,
    name: str = "",
    **fields: Any,
) -> Any:
    """The table that the engine calls `table`, as a class in the module with these globals.

    It and the tables in it get names in the module, so that they can be sent to other processes.

    Args:
        table: what the engine calls it.
        scope: the globals of the module.
        parent: what it derives from.
        known: types that may be in it and are made elsewhere, by the engine's names of them.
        name: what the class is called, if not as the engine's type.
        fields: what it has besides the engine's fields, as `create_model` takes it.
    """
    schema = _SCHEMA["tables"][table]
    maker = _Maker(scope, known or {})
    name = name or _referenced(schema)
    made = maker.model(name, _resolved(schema), parent, schema.get("default", {}), **fields)
    made.checked_as = next((of for of, names in KINDS.items() if table in names), table)
    return made


def kinds(of: str, scope: dict[str, object], known: Mapping[str, Any] | None = None) -> Any:
    """The tables of an enumeration whose variants have no base, by their kind."""
    made: dict[str, Any] = {}
    for kind in KINDS[of]:
        title = "".join(part.capitalize() for part in kind.split("-"))
        tag: Any = (literal([kind]), kind)
        made[kind] = described(kind, scope, Described, known, title, kind=tag)
    return made


def _referenced(schema: Schema) -> str:
    """The definition that a schema refers to, if it does."""
    return schema.get("$ref", "").rpartition("/")[2]


def _resolved(schema: Schema) -> Schema:
    name = _referenced(schema)
    return _DEFINITIONS[name] if name else schema


def _about(schema: Schema) -> str:
    """The first paragraph of a description; the others are for those who read the code."""
    return " ".join(schema.get("description", "").split("\n\n")[0].split())


class _Maker:
    """Makes the tables of a module."""

    def __init__(self, scope: dict[str, Any], known: Mapping[str, Any]) -> None:
        self.scope = scope
        self.made: dict[str, Any] = dict(known)

    def model(
        self,
        name: str,
        schema: Schema,
        parent: type[Table] = Described,
        defaults: Mapping[str, object] | None = None,
        **fields: Any,
    ) -> Any:
        """The class of an object: `fields`, and those of its schema."""
        names: dict[str, str] = {}
        notes: dict[str, str] = {}
        properties: Mapping[str, Schema] = schema["properties"]
        for key in schema.get("order", properties):
            if key == "name":
                continue
            names[key], annotation = self.field(key, properties[key])
            info: dict[str, Any] = {"description": _about(properties[key])}
            notes[names[key]] = properties[key].get("description", "").partition("\n\n")[2]
            if defaults:
                value, field = defaults[key], FieldInfo.from_annotation(annotation)
                default = value if value is None else written(field, value)
                info |= {"default": default, "validate_default": True}
            fields[names[key]] = (annotation, Field(**info))
        made: Any = create_model(
            name,
            __base__=parent,
            __module__=self.scope["__name__"],
            __doc__=_about(schema),
            **fields,
        )
        made.notes = notes
        made.ordered = tuple(
            (names[key], names[least])
            for key in names
            for least in properties[key].get("atLeast", ())
        )
        self.scope[name] = made
        return made

    def field(self, key: str, schema: Schema) -> tuple[str, Any]:
        """The name and the type of a property in files."""
        inner, optional = _without_null(schema)
        ending = next((it for it in _ENDINGS if key.endswith(it)), "")
        annotation: Any = self.value(inner, _ENDINGS.get(ending))
        metadata: list[Any] = [PlanKey(key)]
        if optional:
            word = schema.get("none", "none")
            instead = '"unlimited"' if word == "unlimited" else ""
            metadata += [it for it in _metadata(annotation) if isinstance(it, Mirror)]
            metadata.append(Word(word, instead))
            annotation = annotation | None
        if "true" in schema:
            metadata.append(_also({True: schema["true"], False: schema["false"]}, annotation))
        return schema.get("key", key.removesuffix(ending)), Annotated[annotation, *metadata]

    def value(self, schema: Schema, quantity: Any = None) -> Any:
        """The type of a value."""
        reference = _referenced(schema)
        if reference:
            return _bounded(_KNOWN.get(reference) or self.defined(reference), schema)
        kind = schema["type"]
        if kind == "array":
            return Annotated[_list(self.value(schema["items"], quantity)), Field(min_length=1)]
        if kind in ("integer", "number"):
            quantity = _UNITS.get(schema.get("unit", ""), quantity)
            return _bounded(quantity or {"integer": int, "number": float}[kind], schema)
        return {"boolean": bool, "string": str}[kind]

    def defined(self, name: str) -> Any:
        """The type of a definition, made once for a module."""
        plain_name = name.rstrip("0123456789")
        if plain_name not in self.made:
            schema = _DEFINITIONS[name]
            if "properties" in schema:
                self.made[plain_name] = self.model(plain_name, schema)
            else:
                self.made[plain_name] = self.choice(plain_name, schema)
        return self.made[plain_name]

    def choice(self, name: str, schema: Schema) -> Any:
        """The type of an enumeration."""
        words: dict[str, Schema] = {word: {} for word in schema.get("enum", ())}
        tables: dict[str, Schema] = {}
        for variant in schema.get("oneOf", ()):
            about = {"description": variant.get("description", "")}
            if "const" in variant:
                words[variant["const"]] = {**about, "properties": {}}
            else:
                ((tag, value),) = variant["properties"].items()
                tables[tag] = {**about, **_resolved(value)}
        if not tables:
            return literal([*words])
        one = _single(tables)
        if one is not None and len(tables) == 1:
            return self.word_or_value([*words], *one)
        variants = {**words, **{tag: _as_object(value) for tag, value in tables.items()}}
        models = {tag: self.variant(name, tag, value) for tag, value in variants.items()}
        tables_of_a_kind = Annotated[union(models.values()), Discriminator("kind")]
        metadata: list[Any] = [BeforeValidator(_kind_of(models), json_schema_input_type=Any)]
        if one is not None:
            tag, key, value = one
            short, annotation = self.field(key, value)
            metadata.append(shorthand(short, tables_of_a_kind | annotation, kind=tag))
        return Annotated[tables_of_a_kind, *metadata, _crossing(models, tables)]

    def variant(self, name: str, tag: str, schema: Schema) -> Any:
        """The table of one variant of the enumeration `name`."""
        title = "".join(part.capitalize() for part in tag.split("-"))
        return self.model(title + name, schema, kind=(literal([tag]), tag))

    def word_or_value(self, words: list[str], tag: str, key: str, schema: Schema) -> Any:
        """The type of a value in place of which a word may stand."""
        name, value = self.field(key, schema)
        scalar = name == tag
        adapter = TypeAdapter(value, config=Table.model_config)
        quantity = next((it for it in (Size, Span, Rate) if it in _parts(value)), None)
        what = quantity.phrase() if quantity else f"a number of at least {schema['minimum']}"
        allowed = f"{', '.join(json.dumps(word) for word in words)} or {what}"

        def read(given: Any) -> Any:
            if given in words:
                return given
            try:
                return adapter.validate_python(given)
            except ValidationError as error:
                cause = error.errors()[0].get("ctx", {}).get("error")
                hint = did_you_mean(given, words) if isinstance(given, str) else ""
                hint = hint or (cause.hint if isinstance(cause, UnitError) else "")
                raise UnitError(allowed, hint) from None

        def lowered(given: Any) -> Any:
            inner = plain(given)
            return inner if given in words else {tag: inner if scalar else {key: inner}}

        def raised(given: Any) -> Any:
            if given in words:
                return given
            inner = given[tag] if scalar else given[tag][key]
            return written(FieldInfo.from_annotation(value), inner)

        either = literal(words) | value
        reader = BeforeValidator(read, json_schema_input_type=either)
        return Annotated[either, reader, Mirror(lowered, raised)]


def _without_null(schema: Schema) -> tuple[Schema, bool]:
    """A schema without the alternative of no value, and whether it had it."""
    if "anyOf" in schema:
        inner = next(it for it in schema["anyOf"] if it != {"type": "null"})
        return {**{key: it for key, it in schema.items() if key != "anyOf"}, **inner}, True
    if isinstance(schema.get("type"), list):
        (kind,) = (it for it in schema["type"] if it != "null")
        return {**schema, "type": kind}, True
    return schema, False


def _bounded(kind: Any, schema: Schema) -> Any:
    """A type with the bounds of a schema."""
    limits = {word: schema[key] for key, word in _LIMITS.items() if key in schema}
    if schema.get("format") == "uint32":
        limits.setdefault("le", _MOST)
    if not isinstance(kind, type) or not issubclass(kind, Quantity):
        # Whole bounds read better, also those of numbers that are not.
        plain_limits: Any = {
            it: int(limit) if limit % 1 == 0 else limit for it, limit in limits.items()
        }
        return Annotated[kind, Field(**plain_limits)] if kind in (int, float) else kind
    if limits == {"ge": 1}:
        return Annotated[kind, AfterValidator(positive)]
    if not limits.get("ge"):
        limits.pop("ge", None)
    amounts = {word: kind.of(limit) for word, limit in limits.items()}
    return Annotated[kind, Within(**amounts)] if amounts else kind


def _single(tables: Mapping[str, Schema]) -> tuple[str, str, Schema] | None:
    """The one variant with a single value: its tag, and the value's key and schema."""
    bare = [tag for tag, value in tables.items() if "properties" not in value]
    alone = [tag for tag, value in tables.items() if len(value.get("properties", ())) == 1]
    tag = next(iter(bare or alone if len(bare or alone) == 1 else []), None)
    if tag is None:
        return None
    ((key, value),) = _as_object(tables[tag], tag)["properties"].items()
    return tag, key, value


def _as_object(schema: Schema, key: str = "value") -> Schema:
    return schema if "properties" in schema else {**schema, "properties": {key: schema}}


def _kind_of(models: Mapping[str, Any]) -> Any:
    """A validator that adds the `kind` which a table without one must mean, by its keys."""

    def add(given: Any) -> Any:
        if not isinstance(given, dict) or "kind" in given:
            return given
        common = {tag: len(given.keys() & it.model_fields.keys()) for tag, it in models.items()}
        most = max(common.values())
        fitting = [tag for tag, count in common.items() if count == most]
        kind = min(fitting, key=lambda tag: len(models[tag].model_fields))
        return {"kind": kind, **given} if most else given

    return add


def _crossing(models: Mapping[str, Any], tables: Mapping[str, Schema]) -> Mirror:
    """How a table with a kind crosses: as a word, or as an object with its kind for its one key."""

    def lowered(value: Any) -> Any:
        made = to_plan(value)
        tag = made.pop("kind")
        if tag not in tables:
            return tag
        return {tag: made if "properties" in tables[tag] else next(iter(made.values()))}

    def raised(given: Any) -> Any:
        if isinstance(given, str):
            return {"kind": given}
        ((tag, value),) = given.items()
        inner = value if "properties" in tables[tag] else {"value": value}
        return {"kind": tag, **from_plan(models[tag], inner)}

    return Mirror(lowered, raised)


def _also(words: Mapping[bool, str], annotation: Any) -> BeforeValidator:
    """Takes true and false for two words."""
    return BeforeValidator(
        lambda given: words[given] if isinstance(given, bool) else given,
        json_schema_input_type=bool | annotation,
    )


def _metadata(annotation: Any) -> Sequence[Any]:
    return getattr(annotation, "__metadata__", ())


def _parts(annotation: Any) -> Sequence[Any]:
    return [annotation, getattr(annotation, "__origin__", None)]


def literal(words: Sequence[str]) -> Any:
    """The type of one of these words."""
    made: Any = Literal
    return made[tuple(words)]


def _list(item: Any) -> Any:
    return list[item]


def union(kinds: Iterable[Any]) -> Any:
    """The type of a value of any of these types."""
    return reduce(operator.or_, kinds)


class Variant(Described):
    """A table that varies one that ships, its base."""

    base: str
