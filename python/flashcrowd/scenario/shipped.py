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

    A table that is called like one that ships may leave its base out.
    """
    if not isinstance(given, dict):
        return given
    base = given.get("base", name)
    return _merged(all_of[base], {"base": base, **given}) if base in all_of else given


def _merged(base: dict[str, Any], own: dict[str, Any]) -> dict[str, Any]:
    merged = dict(base)
    for key, value in own.items():
        below = base.get(key)
        same_kind = (
            isinstance(value, dict)
            and isinstance(below, dict)
            and (value.get("kind", below.get("kind")) == below.get("kind"))
        )
        merged[key] = _merged(below, value) if same_kind and isinstance(below, dict) else value
    return merged
