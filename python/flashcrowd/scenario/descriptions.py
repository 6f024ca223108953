"""The descriptions of keys in tables: the text below each attribute, as a person reads it.

Pydantic reads such texts when a table is made, with `use_attribute_docstrings`: that is a third of
the time in which the tables are imported, and few commands show a text.
"""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Mapping
from functools import cache
from itertools import pairwise

from pydantic import BaseModel


@cache
def descriptions(table: type[BaseModel]) -> Mapping[str, str]:
    """The text below each attribute of a table, its own and derived ones, or that of its field."""
    found: dict[str, str] = {}
    for one in reversed(table.__mro__):
        if issubclass(one, BaseModel) and one is not BaseModel:
            found |= _by_class(one.__module__).get(one.__name__, {})
    given = {name: info.description for name, info in table.model_fields.items()}
    return found | {name: text for name, text in given.items() if text}


@cache
def _by_class(module: str) -> dict[str, dict[str, str]]:
    """The texts below the attributes of a module's classes; nothing without its source."""
    try:
        source = inspect.getsource(sys.modules[module])
    except OSError:
        return {}
    nodes = ast.walk(ast.parse(source))
    return {node.name: _below(node.body) for node in nodes if isinstance(node, ast.ClassDef)}


def _below(body: list[ast.stmt]) -> dict[str, str]:
    found: dict[str, str] = {}
    for attribute, text in pairwise(body):
        match attribute, text:
            case (
                ast.AnnAssign(target=ast.Name(id=name)),
                ast.Expr(value=ast.Constant(value=str(said))),
            ):
                found[name] = inspect.cleandoc(said)
    return found
