"""A document as TOML. Long lists are what it is for: a distribution may have 100,000 points."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, time
from typing import Any

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_ESCAPED = re.compile(r'["\\\x00-\x1f\x7f]')
_SHORT = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r", "\b": "\\b", "\f": "\\f"}


def toml_of(document: Mapping[str, object]) -> str:
    """The text of a document: values first, then its tables in their order."""
    return "\n".join(_table(document, ())).lstrip("\n") + "\n"


def _table(table: Mapping[str, Any], path: tuple[str, ...]) -> Iterator[str]:
    """The lines of a table, without its header."""
    below = {key: it for key, it in table.items() if isinstance(it, Mapping) or _is_tables(it)}
    for key, value in table.items():
        if key not in below:
            yield f"{_key(key)} = {_value(value)}"
    for key, value in below.items():
        name = ".".join(map(_key, (*path, key)))
        if not isinstance(value, Mapping):
            for each in value:
                yield f"\n[[{name}]]"
                yield from _table(each, (*path, key))
            continue
        if not value or not all(isinstance(it, Mapping) or _is_tables(it) for it in value.values()):
            yield f"\n[{name}]"
        yield from _table(value, (*path, key))


def _is_tables(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(it, Mapping) for it in value)


def _key(key: str) -> str:
    return key if _BARE.fullmatch(key) else _text(key)


def _value(value: Any) -> str:
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, Mapping):
        pairs = ", ".join(f"{_key(key)} = {_value(it)}" for key, it in value.items())
        return f"{{{pairs}}}"
    if isinstance(value, Sequence):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, date | time):
        return value.isoformat()
    raise TypeError(f"TOML has no {type(value).__name__}")


def _text(text: str) -> str:
    return f'"{_ESCAPED.sub(_escape, text)}"'


def _escape(match: re.Match[str]) -> str:
    char = match[0]
    return _SHORT.get(char) or f"\\u{ord(char):04x}"
