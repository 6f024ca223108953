"""The meaning of a study's keys, from the tables that check them: nothing is written twice."""

from __future__ import annotations

import json
import types
import typing
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from inspect import getdoc
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, StringConstraints
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from flashcrowd.base import paths
from flashcrowd.base.errors import nearest
from flashcrowd.base.units import Quantity
from flashcrowd.scenario import shipped
from flashcrowd.scenario.descriptions import descriptions
from flashcrowd.scenario.fields import Within, Word, at_most_all, positive
from flashcrowd.scenario.keys import tag_of
from flashcrowd.study.study import Study

NAME = "NAME"
"""In a path: a name that the user chooses."""

_SHIPPED = {"stacks": shipped.stacks, "utp": shipped.utps, "profiles": shipped.profiles}
"""Tables that vary one that ships: it has the values that are not given."""


@dataclass(frozen=True)
class Key:
    """A key of a study file.

    Attributes:
        path: its place; `NAME` where a name of one's own stands.
        table: what has it.
        name: the attribute of the table that it is.
    """

    path: tuple[str, ...]
    table: type[BaseModel]
    name: str

    @property
    def info(self) -> FieldInfo:
        """The table's rules for its values."""
        return self.table.model_fields[self.name]

    @property
    def text(self) -> str:
        """Its dotted path."""
        return ".".join(self.path)

    @property
    def meaning(self) -> str:
        """Its meaning."""
        said = " ".join(descriptions(self.table).get(self.name, "").split())
        return said or ("Which kind of table this is." if self.is_tag else "")

    @property
    def notes(self) -> str:
        """The rest of the engine's description: sources, and the names in clients."""
        return str(getattr(self.table, "notes", {}).get(self.name, ""))

    @property
    def is_tag(self) -> bool:
        """Whether it says which of several kinds of table is at a place."""
        return tag_of(self.table) == self.name

    @property
    def about(self) -> str:
        """The table that has it, in one sentence."""
        return (getdoc(self.table) or "").split("\n")[0]

    @property
    def of(self) -> str:
        """Which table has it, where several kinds are allowed at the same place; else empty."""
        tag = tag_of(self.table)
        return f'a table of {tag} "{self.table.model_fields[tag].default}"' if tag else ""

    @property
    def allowed(self) -> list[str]:
        """The allowed values, in words: any of these."""
        return list(dict.fromkeys(_described(self.info.annotation, self.info.metadata)))

    @property
    def default(self) -> str:
        """The value by default."""
        if self.path[0] in _SHIPPED and len(self.path) > 2 and self.info.is_required():
            return "as its base has it"
        if self.info.is_required():
            return "none: it must be given"
        return written(self._default())

    @property
    def shipped(self) -> dict[str, list[str]]:
        """Its values in the tables that ship, each with the names of those that have it."""
        found: dict[str, list[str]] = {}
        if len(self.path) > 2:
            for name, table in _SHIPPED.get(self.path[0], dict)().items():
                value: Any = table
                for segment in self.path[2:]:
                    value = value.get(segment) if isinstance(value, dict) else None
                # A table of a kind is a value as a whole.
                if value is not None and (not isinstance(value, dict) or "kind" in value):
                    found.setdefault(written(value), []).append(name)
        return found

    def _default(self) -> Any:
        if self.info.default is not PydanticUndefined:
            value = self.info.default
            return self._word() if value is None else value
        if self.info.default_factory in (dict, list):
            return self.info.default_factory()  # type: ignore[call-arg,misc]
        return PydanticUndefined

    def _word(self) -> str:
        words = [it.word for it in self.info.metadata if isinstance(it, Word)]
        words += [it.word for it in _metadata(self.info.annotation) if isinstance(it, Word)]
        return words[0] if words else "none"

    @property
    def example(self) -> str:
        """A line of a study file; empty for a table that has no short form."""
        value = None if self.info.is_required() else self._default()
        if value in (None, PydanticUndefined, "inherit", "none", {}, []):
            value = _example(self.info.annotation, self.info.metadata)
        return "" if value is None else f"{self.text} = {written(value)}"

    @property
    def named(self) -> bool:
        """Whether it is a table of names of one's own."""
        return typing.get_origin(self.info.annotation) is dict

    @property
    def keys(self) -> list[str]:
        """The keys that are in it, where it is a table."""
        return list(dict.fromkeys(key.path[-1] for key in below(self)))


@cache
def every_key() -> tuple[Key, ...]:
    """All keys of study files."""
    return tuple(_keys(Study, ()))


def _keys(table: type[BaseModel], path: tuple[str, ...]) -> Iterator[Key]:
    for name, info in table.model_fields.items():
        here = (*path, info.alias or name)
        yield Key(here, table, name)
        for named, model in _tables(info.annotation):
            yield from _keys(model, (*here, NAME) if named else here)


def below(key: Key) -> list[Key]:
    """The keys in a key, one level down."""
    return [
        Key((*key.path, *((NAME,) if named else ()), info.alias or name), model, name)
        for named, model in _tables(key.info.annotation)
        for name, info in model.model_fields.items()
    ]


def find(path: str) -> list[Key]:
    """The keys that a dotted path means: one, or one for each kind of table that has it.

    Names of one's own may be left out, and so may the beginning of the path: then all keys are
    found that end like this.
    """
    segments = paths.parse(path) or []
    # The last segment is the key's name, or a name of one's own in the table before it.
    near = [key for name in dict.fromkeys(segments[-2:]) for key in _by_name().get(name, ())]
    for fits in (
        lambda key: _spelled(key.path, segments),
        lambda key: _spelled_without_names(key.path, segments),
        lambda key: _spelled_with_some_names(key.path, segments),
        lambda key: key.named and _spelled_with_some_names(key.path, segments[:-1]),
        lambda key: _ends(key.path, segments),
    ):
        found = [key for key in near if fits(key)]
        if found:
            return _distinct(found)
    return []


@cache
def _by_name() -> dict[str, list[Key]]:
    """All keys by their last segment, which is never a name of one's own."""
    found: dict[str, list[Key]] = {}
    for key in every_key():
        found.setdefault(key.path[-1], []).append(key)
    return found


def suggestions(path: str) -> str:
    """The nearest key to a path that is none; empty if nothing is near."""
    plain = {".".join(_nameless(key.path)): key.text for key in every_key()}
    found = nearest(path, [*plain, *(key.text for key in every_key())])
    if found is None:
        last = (paths.parse(path) or [path])[-1]
        ends = {key.path[-1]: key.text for key in every_key()}
        near = nearest(last, ends)
        return ends[near] if near else ""
    return plain.get(found, found)


def _spelled(path: tuple[str, ...], segments: Sequence[str]) -> bool:
    return len(path) == len(segments) and all(
        a in (NAME, b) for a, b in zip(path, segments, strict=True)
    )


def _spelled_without_names(path: tuple[str, ...], segments: Sequence[str]) -> bool:
    return _nameless(path) == tuple(segments)


def _spelled_with_some_names(path: tuple[str, ...], segments: Sequence[str]) -> bool:
    if not path or not segments:
        return not path and not segments
    first, rest = path[0], path[1:]
    if first == NAME:
        return any(_spelled_with_some_names(rest, it) for it in (segments[1:], segments))
    return first == segments[0] and _spelled_with_some_names(rest, segments[1:])


def _ends(path: tuple[str, ...], segments: Sequence[str]) -> bool:
    return bool(segments) and _nameless(path)[-len(segments) :] == tuple(segments)


def _nameless(path: Sequence[str]) -> tuple[str, ...]:
    return tuple(segment for segment in path if segment != NAME)


def _distinct(keys: list[Key]) -> list[Key]:
    """Keys of the same path that say different things."""
    found: dict[tuple[Any, ...], Key] = {}
    for key in keys:
        found.setdefault((key.text, key.meaning, tuple(key.allowed), key.default), key)
    return list(found.values())


def _tables(annotation: Any, named: bool = False) -> Iterator[tuple[bool, type[BaseModel]]]:
    """The tables that an annotation allows, and whether they stand below names."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield named, annotation
    elif typing.get_origin(annotation) is dict:
        yield from _tables(typing.get_args(annotation)[1], named=True)
    elif typing.get_origin(annotation) is not Literal:
        for argument in typing.get_args(annotation):
            yield from _tables(argument, named)


def _metadata(annotation: Any) -> Iterator[Any]:
    if typing.get_origin(annotation) is Annotated:
        inner, *metadata = typing.get_args(annotation)
        yield from metadata
        yield from _metadata(inner)
    elif typing.get_origin(annotation) in (typing.Union, types.UnionType):
        for argument in typing.get_args(annotation):
            yield from _metadata(argument)


def _described(annotation: Any, metadata: Sequence[Any] = ()) -> Iterator[str]:
    """The allowed values, in words."""
    shorter = [it.json_schema_input_type for it in metadata if isinstance(it, BeforeValidator)]
    shorter = [it for it in shorter if it not in (Any, PydanticUndefined)]
    for word in (it.word for it in metadata if isinstance(it, Word)):
        yield f'"{word}"'
    if shorter:
        yield from _described(shorter[-1])
        return
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is Annotated:
        yield from _described(arguments[0], arguments[1:])
    elif origin in (typing.Union, types.UnionType):
        for argument in arguments:
            yield from _described(argument, metadata)
    elif origin is Literal:
        yield from (written(word) for word in arguments)
    elif origin is dict:
        values = " or ".join(dict.fromkeys(_described(arguments[1])))
        yield f"a table of names, each with {values}"
    elif origin in (list, tuple):
        items = [" or ".join(dict.fromkeys(_described(it))) for it in arguments if it is not ...]
        count = f" of {len(items)}" if origin is tuple and ... not in arguments else ""
        each = f", each {items[0]}" if len(set(items)) == 1 else f": {', then '.join(items)}"
        yield f"a list{count}{each}"
    elif isinstance(annotation, type) and annotation is not type(None):
        yield _of_class(annotation, metadata)


def _of_class(kind: type, metadata: Sequence[Any]) -> str:
    if issubclass(kind, Quantity):
        limits = [it.phrase() for it in metadata if isinstance(it, Within)]
        checks = [it.func for it in metadata if isinstance(it, AfterValidator)]
        limits += ["of more than zero"] if positive in checks else []
        limits += ["of at most 100 %"] if at_most_all in checks else []
        units = ", ".join(kind.units)
        return f'{" ".join([kind.noun, *limits])}, as in "{kind.example}" (units: {units})'
    if issubclass(kind, BaseModel):
        about = (getdoc(kind) or "").split("\n")[0].rstrip(".")
        which = kind.model_fields.get("kind")
        name = f'a table of kind "{which.default}"' if which is not None else "a table"
        return f"{name} ({about})"
    if hasattr(kind, "allowed"):
        return str(kind.allowed)
    examples = [text for it in metadata if isinstance(it, FieldInfo) for text in it.examples or ()]
    if examples:
        return "a text, as in " + " or ".join(map(written, examples))
    names = {bool: "true or false", int: "a whole number", float: "a number", str: "a text"}
    return names.get(kind, "any value") + _limits(metadata)


def _limits(metadata: Sequence[Any]) -> str:
    """Bounds of a number or a text, in words."""
    words = {"ge": "at least", "gt": "more than", "le": "at most", "lt": "less than"}
    found = [
        f"{words[name]} {getattr(limit, name)}"
        for limit in metadata
        for name in words
        if getattr(limit, name, None) is not None
    ]
    texts = [it for it in metadata if isinstance(it, StringConstraints)]
    found += [f"at most {it.max_length} characters" for it in texts if it.max_length]
    return f", {' and '.join(found)}" if found else ""


def _example(annotation: Any, metadata: Sequence[Any] = ()) -> Any:
    """Some value that is allowed; None for a table."""
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is Annotated:
        return _example(arguments[0], arguments[1:])
    if origin in (typing.Union, types.UnionType):
        found = (_example(it, metadata) for it in arguments if it is not type(None))
        return next((it for it in found if it not in (None, "inherit")), None)
    if origin is Literal:
        return next((word for word in arguments if word not in ("none", "inherit")), None)
    if isinstance(annotation, type) and issubclass(annotation, Quantity):
        limits = [it for it in metadata if isinstance(it, Within)]
        text: Quantity = annotation(annotation.example)
        for it in limits:
            bound = it.le or it.ge or it.gt
            text = text if it.holds(text) or bound is None else bound  # type: ignore[assignment]
        return text
    if annotation is str:
        texts = [it.examples for it in metadata if isinstance(it, FieldInfo) and it.examples]
        return texts[0][0] if texts else None
    if annotation is bool:
        return True
    if annotation is int:
        return max([1, *(it.ge for it in metadata if getattr(it, "ge", None) is not None)])
    return None


def written(value: Any) -> str:
    """A value as a study file has it."""
    if value is PydanticUndefined:
        return "depends on the other keys of its table"
    if isinstance(value, BaseModel):
        value = value.model_dump(mode="json", by_alias=True)
    if isinstance(value, dict):
        inner = ", ".join(f"{key} = {written(item)}" for key, item in value.items())
        return f"{{ {inner} }}" if inner else "{}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(written, value))}]"
    return json.dumps(value, default=str, ensure_ascii=False)
