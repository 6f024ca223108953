"""Runs that failed: named once, and the exit status that says so."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from flashcrowd.base.amounts import counted
from flashcrowd.base.errors import FAILED
from flashcrowd.report.source import Source


def status(reasons: Sequence[str]) -> int:
    """The exit status of a command, of why each run failed that did."""
    return FAILED if reasons else 0


def told(reasons: Sequence[str], runs: int, of: str = "") -> int:
    """Names failed runs on standard error; the exit status.

    Args:
        reasons: why each of them failed.
        runs: how many runs there are.
        of: what they are runs of, as in " of study rtt".
    """
    if reasons:
        text = f"{len(reasons)} of {counted(runs, 'run')}{of} failed: {reasons[0]}"
        print(f"warning: {text}", file=sys.stderr)
    return status(reasons)


def reasons(results: Source) -> list[str]:
    """Why each run failed that did."""
    rows = results.tables["runs"].select(["outcome", "reason"]).to_pylist()
    return [row["reason"] for row in rows if row["outcome"] == "failed"]
