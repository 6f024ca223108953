"""Points and runs of a study."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from flashcrowd.base.kept import Kept
from flashcrowd.plan.lower import lower
from flashcrowd.plan.plan import Plan
from flashcrowd.scenario.problems import shown
from flashcrowd.scenario.scenario import Scenario


@dataclass(frozen=True)
class Point:
    """One combination of sweep values.

    Attributes:
        index: position in the study, from 0.
        values: swept path → value, as written.
        scenario: what is the case at this point.
        kept: what was lowered for other points.
    """

    index: int
    values: Mapping[str, Any]
    scenario: Scenario
    kept: Kept = field(default_factory=Kept, compare=False, repr=False)

    def plan(self) -> Plan:
        """The plan of this point."""
        return lower(self.scenario, self.kept)

    @property
    def label(self) -> str:
        """The sweep values in one line; the title where nothing is swept."""
        parts = (
            f"{path} = {value if isinstance(value, str) else shown(value)}"
            for path, value in self.values.items()
        )
        return ", ".join(parts) or self.scenario.title


@dataclass(frozen=True)
class Run:
    """One run of a study.

    Attributes:
        point: what is simulated.
        repeat: which repetition, from 0.
        seed: the seed of all random streams.
    """

    point: Point
    repeat: int
    seed: int
