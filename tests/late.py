"""Tests that hold numbers against the clock, on a machine that is late."""

from typing import NoReturn

import pytest

WORDS = "this machine was late"


def late(why: str) -> NoReturn:
    """Leaves the test out: what it measured says nothing."""
    pytest.skip(f"{WORDS}: {why}")


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
