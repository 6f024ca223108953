"""The refusal of all engines: a plan that contradicts itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from flashcrowd import _core
from flashcrowd.base.errors import PlanRejected, first
from flashcrowd.plan.parts import parse
from flashcrowd.plan.place import in_study
from flashcrowd.plan.types import Plan


def check(plan_json: str) -> None:
    """Refuse a plan that no engine can run.

    Raises:
        PlanRejected: it names the place, as a study does.
    """
    try:
        _core.check_plan(plan_json)
    except _core.PlanError as error:
        raise PlanRejected(in_study(str(error), plan_json)) from None


def check_for(plan_json: str, title: str, problems: Callable[[Plan], Iterable[str]]) -> Plan:
    """The plan, if an engine can run it.

    Args:
        plan_json: the plan.
        title: what stands above the reasons.
        problems: the engine's reasons not to.

    Raises:
        PlanRejected: it cannot; all reasons at once.
    """
    check(plan_json)
    plan = parse(plan_json)
    if found := list(problems(plan)):
        raise PlanRejected("\n  ".join([f"{title}:", *first(found)]))
    return plan
