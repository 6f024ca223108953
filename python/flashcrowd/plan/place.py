"""Places of a plan in the words of a study: `workloads[0].size_bytes` is `workloads.talk.size`."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from flashcrowd._core import PlanError
from flashcrowd.base import paths
from flashcrowd.base.errors import PlanRejected

_SAID = re.compile(r"(?:plan: )?(?P<place>[a-z0-9_]+(?:\.[a-z0-9_]+|\[[0-9]+\])*): (?P<what>.+)")
_STEP = re.compile(r"([a-z0-9_]+)|\[([0-9]+)\]")
_UNIT = re.compile(r"\b([a-z][a-z0-9_]*?)_(?:ns|bytes|bps)\b")


def study_place(table: str, item: Mapping[str, Any]) -> str:
    """Where a study has an item of a list of its plan: `workloads.talk`."""
    return paths.join([table, item["name"]])


def in_study(said: str, plan_json: str) -> str:
    """An engine's message on a plan, with the names and keys of the study that it was made of.

    Lists of a plan are tables of names in a study; keys have no unit there. What names no place of
    the plan stays as it is.
    """
    match = _SAID.fullmatch(said)
    if match is None:
        return said
    here: Any = _read(plan_json)
    place: list[str | int] = []
    for key, index in _STEP.findall(match["place"]):
        try:
            here = here[int(index) if index else key]
        except (KeyError, IndexError, TypeError):
            here = None
        if key:
            place.append(_UNIT.sub(r"\1", key))
        else:
            named = isinstance(here, dict) and isinstance(here.get("name"), str)
            place.append(here["name"] if named else int(index))
    what = _UNIT.sub(r"\1", match["what"])
    return f"{paths.join(place)}: {what}"


def rejected(error: PlanError, plan_json: str) -> PlanRejected:
    """The refusal of a plan, in the words of its study."""
    return PlanRejected(in_study(str(error), plan_json))


def _read(plan_json: str) -> Any:
    try:
        return json.loads(plan_json)
    except ValueError:  # the message says so
        return None
