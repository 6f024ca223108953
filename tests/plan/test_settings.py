"""Tables that the engine describes: its schema against its check, and what files say of them."""

import json
import typing
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from flashcrowd import _core
from flashcrowd.scenario import shipped
from flashcrowd.scenario.descriptions import descriptions
from flashcrowd.scenario.discipline import TABLES
from flashcrowd.scenario.problems import problems_of
from flashcrowd.scenario.profile import Profile
from flashcrowd.scenario.stack import Stack
from flashcrowd.scenario.utp import Utp

SCHEMA: dict[str, Any] = json.loads(_core.settings_schema())
SHIPPED: dict[str, dict[str, Any]] = {
    "stack": json.loads(_core.tcp_profiles()),
    "utp": json.loads(_core.utp_profiles()),
    "profile": json.loads(_core.client_profiles()),
    "ledbat": json.loads(_core.ledbat_tables()),
    **{kind: {kind: {"kind": kind, **SCHEMA["tables"][kind]["default"]}} for kind in TABLES},
}
"""Tables that are sound, by kind and name."""

BEYOND: dict[str, Callable[[Any], Any]] = {
    "minimum": lambda bound: bound - 1,
    "exclusiveMinimum": lambda bound: bound,
    "maximum": lambda bound: bound + 1,
}
"""For each kind of bound, a value that it does not allow."""

Path = tuple[str, ...]


def resolved(schema: dict[str, Any]) -> dict[str, Any]:
    """A schema with what its references and its one alternative to nothing say."""
    for inner in schema.get("anyOf", ()):
        schema = {**inner, **schema}
    if "$ref" not in schema:
        return schema
    return {**SCHEMA["$defs"][schema["$ref"].rpartition("/")[2]], **schema}


def bounds(schema: dict[str, Any], value: Any, path: Path = ()) -> Iterator[tuple[Path, str, Any]]:
    """Every bound that the schema has for a value: its path, its kind and the bound."""
    schema = resolved(schema)
    if isinstance(value, int | float):
        for kind in BEYOND:
            # A type refuses by itself what it cannot hold.
            held = {("minimum", 0)}
            held |= {("maximum", 65_535)} if schema.get("format") == "uint16" else set()
            if kind in schema and (schema["type"] == "number" or (kind, schema[kind]) not in held):
                yield path, kind, schema[kind]
    for variant in [schema, *schema.get("oneOf", ())]:
        for key, inner in variant.get("properties", {}).items():
            if isinstance(value, dict) and key in value:
                yield from bounds(inner, value[key], (*path, key))


def with_value(table: dict[str, Any], path: Path, value: Any) -> str:
    changed = json.loads(json.dumps(table))
    place = changed
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return json.dumps(changed)


EVERY = [
    (kind, name, path, word, bound)
    for kind, tables in SHIPPED.items()
    for name, table in tables.items()
    for path, word, bound in bounds(SCHEMA["tables"][kind], table)
]


def test_whatever_ships_is_sound() -> None:
    for kind, tables in SHIPPED.items():
        for table in tables.values():
            assert _core.check_settings(kind, json.dumps(table)) is None


def test_the_engine_has_each_bound_of_its_schema() -> None:
    assert len({(kind, path, word) for kind, _, path, word, _ in EVERY}) > 150
    words = {"minimum": "at least", "exclusiveMinimum": "more than", "maximum": "at most"}
    for kind, name, path, word, bound in EVERY:
        table, place = SHIPPED[kind][name], ".".join(path)
        refused = _core.check_settings(kind, with_value(table, path, BEYOND[word](bound)))
        assert refused is not None, (kind, name, place, word)
        found, allowed = refused
        assert found == place, (kind, name, place, word)
        assert allowed.startswith(words[word]), (kind, name, place, word)
        if word != "exclusiveMinimum":
            # Another rule may be broken there: the value is below another field, say.
            at = _core.check_settings(kind, with_value(table, path, bound))
            assert at != refused, (kind, name, place, word)


def tables_of(annotation: Any) -> Iterator[type[BaseModel]]:
    """The tables that a type allows, with those in them."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
        for info in annotation.model_fields.values():
            yield from tables_of(info.annotation)
    for inner in typing.get_args(annotation):
        yield from tables_of(inner)


@pytest.mark.parametrize("table", [Stack, Utp, Profile, *TABLES.values()])
def test_every_field_says_what_it_is_about_in_words_of_files(table: Any) -> None:
    for one in tables_of(table):
        texts = descriptions(one)
        for name in one.model_fields:
            if name != "kind":
                said = texts[name]
                assert said, (one, name)
                assert not any(it in said for it in ("_ns`", "_bytes`", "`null`", "[`")), (
                    one,
                    name,
                )


@pytest.mark.parametrize(
    ("own", "path", "allowed"),
    [
        ({"connections": {"timeout": "1 us"}}, "connections.timeout", "a time of at least 1 ms"),
        ({"fast": {"suggest": "read-cache"}}, "fast.suggest", "where the client does not offer"),
        ({"requests": {"max_queue": 9}}, "requests.backlog", "at most max_queue requests, 9"),
        (
            {"requests": {"backlog": {"queue_time": "3 s", "min": 6, "max": 5}}},
            "requests.backlog.min",
            "a number of at most max, 5",
        ),
        ({"requests": {"max_block": "1 B"}}, "requests.max_block", "a size of at least block, 16"),
        ({"limiter": {"sharing": "quota", "window": "9 s"}}, "limiter.window", 'sharing "turns"'),
    ],
)
def test_rules_between_fields_come_in_words_of_files(
    own: dict[str, Any], path: str, allowed: str
) -> None:
    base = {"base": "mainline-4.0.2", **own}
    base["requests"] = {"backlog": 10, **own.get("requests", {})}
    given = shipped.completed(base, "mine", shipped.profiles())
    with pytest.raises(ValidationError) as caught:
        Profile.model_validate(given)
    (problem,) = problems_of(caught.value, Profile, given)
    assert problem.path == path
    assert allowed in problem.allowed
