"""The open questions, and how many runs would answer them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from flashcrowd.report import axis_words, wording
from flashcrowd.report.clauses import Clause
from flashcrowd.report.compared import Compared
from flashcrowd.report.finding import Finding
from flashcrowd.report.statistics import student_quantile

#: Counts of runs that are proposed.
_COUNTS = (8, 10, 15, 20, 30, 50, 100)

_LEVEL = 0.975


def too_few(clause: Clause, compared: Compared, provenance: Mapping[str, object]) -> str:
    """That runs are too few to tell two levels apart, and how many more would, in what time.

    Args:
        clause: an outcome that is undecided.
        compared: what is compared.
        provenance: that of the results, which knows how long runs take.
    """
    found = max(clause.findings, key=lambda it: it.effect)
    setting = clause.settings[clause.findings.index(found)]
    where = compared.named([setting])
    runs = wording.count(found.runs[1], "run")
    (low,), (high,) = found.groups
    first, second = (
        f"{clause.at(setting, level)} with "
        f"{axis_words.settings(compared.axis, [level], named=i > 0)}"
        for i, level in enumerate((low, high))
    )
    head = f"{where}, " if where else ""
    least = compared.headline.least(clause.measure).beside(*found.ends)
    more = _needed(found, least)
    advice = "even 100 would hardly tell" if more is None else f"about {more} would tell"
    if more is not None and (seconds := _seconds(provenance)) is not None:
        rest = sum(max(0, more - len(point.runs)) for point in compared.points.points) * seconds
        advice += f", in {_time(rest)}"
    return wording.sentence(
        f"{head}{clause.subject} is {first} and {second}, but {runs} per point "
        f"{'is' if found.runs[1] == 1 else 'are'} too few to tell them apart; {advice}."
    )


def _needed(found: Finding, least: float) -> int | None:
    """About how many runs would show the difference, or that it is below what matters.

    `None` for more than a hundred.
    """
    change, runs = found.change, found.runs[0]
    if change is None or change.low is None or change.high is None or runs < 2:
        return _COUNTS[0]
    half = (change.high - change.low) / 2
    deviation = half / student_quantile(_LEVEL, runs - 1)  # of the mean
    for count in _COUNTS:
        expected = deviation * math.sqrt(runs / count) * student_quantile(_LEVEL, count - 1)
        # Half of it as room: the difference itself is known no better.
        if count > runs and expected <= max(abs(change.mean), least) / 1.5:
            return count
    return None


def _seconds(provenance: Mapping[str, Any]) -> float | None:
    """Time of a run, of those that there are; `None` if nothing is known of that."""
    took, runs = 0.0, 0
    for session in provenance.get("sessions") or ():
        try:
            began, ended = (datetime.fromisoformat(session[it]) for it in ("started", "finished"))
            took, runs = took + (ended - began).total_seconds(), runs + int(session["runs"])
        except (KeyError, TypeError, ValueError):
            return None
    return took / runs if runs else None


def _time(seconds: float) -> str:
    """An approximate time, two digits: ``1 s``, ``16 s``, ``3.2 min``."""
    seconds = max(1.0, seconds)
    unit, factor = wording.readable("s", [seconds])
    return f"{float(f'{seconds * factor:.2g}'):g} {unit}"
