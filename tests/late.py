"""Tests that hold numbers against the clock, on a machine that is late."""

from collections.abc import Mapping
from typing import Any, NoReturn

import pytest

WORDS = "this machine was late"
PATIENCE_S = 300.0
"""What does not happen within this time on a machine with much else to do never will."""


def late(why: str) -> NoReturn:
    """Leaves the test out: what it measured says nothing."""
    pytest.skip(f"{WORDS}: {why}")


def ended(run: Mapping[str, Any], *outcomes: str) -> None:
    """Fails if a run of real programs ended otherwise: one that does not hold them to the clock.

    Such a run may be invalid as the machine was late, and not as its network is not the plan's.
    """
    assert run["outcome"] in (*outcomes, "invalid"), run["reason"]
    if run["outcome"] == "invalid":
        assert not run["reason"].startswith("self-test"), "the network is not the plan's"


class Tally:
    """How many tests a late machine left out, and how many were judged against the clock."""

    def __init__(self) -> None:
        self.late = self.judged = 0

    def count(self, report: pytest.TestReport) -> None:
        """Takes the report of a test into account."""
        if report.when != "call":
            return
        if report.skipped:
            self.late += WORDS in str(report.longrepr)
        elif {"clocked", "kernel"} & {*report.keywords}:
            self.judged += 1

    @property
    def nothing_judged(self) -> bool:
        """Whether the machine was late for everything."""
        return self.late > 0 and self.judged == 0

    def line(self) -> str:
        """What a person should know of it; empty if the machine was in time."""
        if not self.late:
            return ""
        text = f"THIS MACHINE WAS LATE: {self.late} held against the clock judged nothing"
        return f"{text}, and no other did" if self.nothing_judged else f"{text}, {self.judged} did"
