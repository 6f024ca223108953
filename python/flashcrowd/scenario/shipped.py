"""The TCP stacks and client profiles that ship. Their values live in the compiled core."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from flashcrowd.scenario.mirror import from_plan


@cache
def stacks() -> dict[str, dict[str, Any]]:
    """Each stack that ships, as a file would write it."""
    from flashcrowd import _core
    from flashcrowd.scenario.stack import Stack

    return {
        name: from_plan(Stack, plain) for name, plain in json.loads(_core.tcp_profiles()).items()
    }


@cache
def profiles() -> dict[str, dict[str, Any]]:
    """Each client profile that ships, as a file would write it."""
    from flashcrowd import _core
    from flashcrowd.scenario.profile import Profile

    return {
        name: from_plan(Profile, plain)
        for name, plain in json.loads(_core.client_profiles()).items()
    }


def completed(given: Any, name: str, all_of: dict[str, dict[str, Any]]) -> Any:
    """The table `given` with the values of its base where it has none.

    A table that is called like one that ships may leave its base out. Where there is no such base,
    any other fills the gaps, so that this is the only mistake found.
    """
    if not isinstance(given, dict):
        return given
    base = given.get("base", name)
    if isinstance(base, str) and base in all_of:
        return _merged(all_of[base], {"base": base, **given})
    return _merged(next(iter(all_of.values())), given)


def _merged(base: dict[str, Any], own: dict[str, Any]) -> dict[str, Any]:
    merged = dict(base)
    for key, value in own.items():
        below = base.get(key)
        if isinstance(value, dict) and isinstance(below, dict) and _same_kind(below, value):
            merged[key] = _merged(below, value)
        else:
            merged[key] = value
    return merged


def _same_kind(base: dict[str, Any], own: dict[str, Any]) -> bool:
    """Whether a table varies its base, rather than being of another kind."""
    if "kind" not in base:
        return True
    return own["kind"] == base["kind"] if "kind" in own else own.keys() <= base.keys()
