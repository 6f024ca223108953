"""The expectations of a study: `[expect]`, judged once its runs are done.

Nothing here changes what is simulated, so it is no part of a study's fingerprint: a results folder
can be judged by expectations that were written after it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Self

from pydantic import Field, model_validator

from flashcrowd.base import bounds, metrics, paths
from flashcrowd.base.errors import Problem
from flashcrowd.base.units import UnitError
from flashcrowd.scenario.fields import Table, Word
from flashcrowd.scenario.problems import shown
from flashcrowd.scenario.scenario import Scenario
from flashcrowd.study.headline import MeasureText, must_exist, setting_problems
from flashcrowd.study.sweep import Axis

Bound = Annotated[str | None, Word("none")]
"""A quantity in the unit of the measure, or a change in per cent."""


class Expectation(Table):
    """One thing that is expected: a measure, and where its interval must lie."""

    measure: MeasureText
    """The measure, as in "p95 ping of bystander"; see the headline of reports."""
    below: Bound = None
    """The measure is less than this, as in "100 ms"."""
    above: Bound = None
    """The measure is more than this, as in "2 Mbit/s"."""
    change_below: Bound = None
    """The measure is larger than that of the baseline by less than this, as in "5 %"."""
    change_above: Bound = None
    """The measure is larger than that of the baseline by more than this; "-5 %": it is not smaller
    by 5 % or more."""
    baseline: dict[str, object] = Field(default_factory=dict)
    """Swept path (or its end) to value: what a change is compared with. Without, as `[report]`."""
    at: dict[str, object] = Field(default_factory=dict)
    """Swept path (or its end) to value: only points with these values are judged. Without, all."""
    together: bool = False
    """Judge the mean over the points, and not each point."""

    @model_validator(mode="after")
    def _bounded(self) -> Self:
        given = [key for key in bounds.KEYS if getattr(self, key) is not None]
        if not given:
            hint = 'as in below = "100 ms" or change_below = "5 %"'
            raise UnitError(f"at least one of {', '.join(bounds.KEYS)}", hint)
        metric = metrics.parse(self.measure).metric
        for key in given:
            try:
                bounds.amount(getattr(self, key), bounds.unit_of(key, metric))
            except UnitError as error:
                raise UnitError(error.allowed, error.hint, key) from None
        for above, below in (("above", "below"), ("change_above", "change_below")):
            least, most = getattr(self, above), getattr(self, below)
            if least is None or most is None:
                continue
            unit = bounds.unit_of(above, metric)
            if bounds.amount(least, unit) >= bounds.amount(most, unit):
                raise UnitError(f"less than `{below}`, {most}", "no value is both", above)
        if self.baseline and not any(key in bounds.CHANGES for key in given):
            allowed = f"a baseline goes with {' or '.join(bounds.CHANGES)}"
            raise UnitError(allowed, key="baseline")
        return self


def problems_of(
    expectations: Mapping[str, Expectation],
    scenarios: Sequence[Scenario],
    axes: Sequence[Axis],
    cases: Sequence[str] = (),
) -> Iterator[Problem]:
    """Expectations in `[expect]` on things that the study lacks.

    Args:
        expectations: the tables by name.
        scenarios: the situations that the study has; a measure must exist in one of them.
        axes: the sweep.
        cases: what the study calls the values of its first axis.
    """
    for name, expectation in expectations.items():
        place = paths.join(("expect", name))
        try:
            must_exist(metrics.parse(expectation.measure), scenarios)
        except UnitError as error:
            value = shown(expectation.measure)
            yield Problem(f"{place}.measure", value, error.allowed, error.hint)
        yield from setting_problems(f"{place}.baseline", expectation.baseline, axes, cases)
        yield from setting_problems(f"{place}.at", expectation.at, axes, cases)
        changes = any(getattr(expectation, key) is not None for key in bounds.CHANGES)
        if changes and not any(len(v) > 1 for axis in axes for v in axis.values()):
            hint = "sweep what is compared, or compare folders with `flashcrowd compare`"
            key = next(key for key in bounds.CHANGES if getattr(expectation, key) is not None)
            value = shown(getattr(expectation, key))
            yield Problem(f"{place}.{key}", value, "a sweep: one point has no baseline", hint)
