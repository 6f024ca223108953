"""The refusal of all engines: a plan that contradicts itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from flashcrowd._core import Plan, PlanError
from flashcrowd.base.errors import PlanRejected, first
from flashcrowd.plan.place import rejected


def check(plan: Plan) -> None:
    """Refuse a plan that no engine can run.

    Raises:
        PlanRejected: it names the place, as a study does.
    """
    try:
        plan.check()
    except PlanError as error:
        raise rejected(error, plan.to_json()) from None


def check_for(plan: Plan, title: str, problems: Callable[[Plan], Iterable[str]]) -> None:
    """Refuse a plan that an engine cannot run.

    Args:
        plan: what it is to run.
        title: what stands above the reasons.
        problems: the engine's reasons not to.

    Raises:
        PlanRejected: it cannot; all reasons at once.
    """
    check(plan)
    if found := list(problems(plan)):
        raise PlanRejected("\n  ".join([f"{title}:", *first(found)]))
