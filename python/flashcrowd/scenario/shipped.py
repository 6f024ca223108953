"""The stacks, uTP configurations and clients that ship. Their values live in the compiled core."""

from __future__ import annotations

from functools import cache
from typing import Any

from flashcrowd.scenario.ledbat import ledbats
from flashcrowd.scenario.mirror import Written, tables_from_plan
from flashcrowd.scenario.profile import Profile
from flashcrowd.scenario.stack import Stack
from flashcrowd.scenario.utp import Utp


@cache
def stacks() -> dict[str, Written]:
    """Each stack that ships."""
    from flashcrowd import _core

    return tables_from_plan(Stack, _core.tcp_profiles())


@cache
def utps() -> dict[str, Written]:
    """Each uTP configuration that ships."""
    from flashcrowd import _core

    return tables_from_plan(Utp, _core.utp_profiles())


@cache
def profiles() -> dict[str, Written]:
    """Each client profile that ships."""
    from flashcrowd import _core

    return tables_from_plan(Profile, _core.client_profiles())


def completed(given: Any, name: str, all_of: dict[str, Written]) -> Any:
    """The table `given` with the values of its base where it has none.

    A table that is called like one that ships may leave its base out. Where there is no such base,
    any other fills the gaps, so that this is the only mistake found.
    """
    if not isinstance(given, dict):
        return given
    base = given.get("base", name)
    if isinstance(base, str) and base in all_of:
        return _steered(all_of[base], {"base": base, **given})
    return _steered(next(iter(all_of.values())), given)


def _steered(base: Written, own: Written) -> Written:
    """Merged, with the LEDBAT table of the controller if that is not the base's."""
    controller = own.get("controller", base.get("controller"))
    if not isinstance(controller, str) or "ledbat" not in base:
        return _merged(base, own)
    if controller in ledbats() and own.get("ledbat") == "none":
        own = {key: value for key, value in own.items() if key != "ledbat"}
    if controller in ledbats() and controller != base["controller"]:
        base = {**base, "ledbat": ledbats()[controller]}
    elif controller not in ledbats() and isinstance(own.get("ledbat"), dict):
        # Nothing reads it, but a sweep may mix controllers that do with others.
        base = {**base, "ledbat": ledbats()["ledbat"]}
    return _merged(base, own)


def unsteered(own: Written, name: str, all_of: dict[str, Written]) -> Written:
    """`own`, which is complete, without what its LEDBAT table has because of its controller.

    So the table follows the controller when a sweep replaces that.
    """
    table = own.get("ledbat")
    if not isinstance(table, dict):
        return {key: value for key, value in own.items() if key != "ledbat"}
    plain = {"base": own["base"], "controller": own["controller"]}
    usual = completed(plain, name, all_of)["ledbat"]
    usual = usual if isinstance(usual, dict) else ledbats()["ledbat"]
    said = {key: value for key, value in table.items() if usual[key] != value}
    kept = {key: value for key, value in own.items() if key != "ledbat"}
    return {**kept, "ledbat": said} if said else kept


def _merged(base: Written, own: Written) -> Written:
    merged = dict(base)
    for key, value in own.items():
        below = base.get(key)
        if isinstance(value, dict) and isinstance(below, dict) and _same_kind(below, value):
            merged[key] = _merged(below, value)
        else:
            merged[key] = value
    return merged


def _same_kind(base: Written, own: Written) -> bool:
    """Whether a table varies its base, rather than being of another kind."""
    if "kind" not in base:
        return True
    return own["kind"] == base["kind"] if "kind" in own else own.keys() <= base.keys()
