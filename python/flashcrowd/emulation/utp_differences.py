"""Options of a plan's uTP that another implementation than ours replaces by its own."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from flashcrowd import _core
from flashcrowd._core import Plan
from flashcrowd.clients.settings import Unmet
from flashcrowd.plan.parts import utp_of
from flashcrowd.plan.types import Settings, TransferWorkload


def differences(
    plan: Plan, spec: TransferWorkload, model: str, offered: Sequence[str]
) -> Iterator[Unmet]:
    """In what the configuration of a transfer differs from the model of its program.

    Args:
        plan: the plan.
        spec: the transfer.
        model: the uTP configuration that models the program.
        offered: dotted names of what the program can be set to.
    """
    asked = _flat(utp_of(plan, spec))
    given = _flat(_shipped()[model])
    for name in sorted(asked.keys() | given.keys()):
        if name != "name" and name not in offered and asked.get(name) != given.get(name):
            yield Unmet(
                f"utp.{name}", _said(asked.get(name)), f"as {model}: {_said(given.get(name))}"
            )


def untold(plan: Plan, program: str, names: Sequence[str]) -> Iterator[Unmet]:
    """The series of flows that a plan asks for and a program does not report."""
    for series in plan.measures["series"]:
        if series["what"] in names:
            yield Unmet(
                f"measures.series.{series['what']}", "sampled", f"{program} does not tell it"
            )


def _flat(table: Mapping[str, object], place: str = "") -> Settings:
    found: Settings = {}
    for name, value in table.items():
        if isinstance(value, Mapping):
            found |= _flat(value, f"{place}{name}.")
        else:
            found[f"{place}{name}"] = value
    return found


def _said(value: Any) -> str:
    return "none" if value is None else value if isinstance(value, str) else json.dumps(value)


@cache
def _shipped() -> dict[str, Settings]:
    return json.loads(_core.utp_profiles())
