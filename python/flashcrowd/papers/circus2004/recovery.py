"""How a connection recovers from losses, from the log of its sender in the study ``recovery``."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from flashcrowd.base.units import Rate
from flashcrowd.papers import repairs
from flashcrowd.papers.evidence import Given, StudyEvidence
from flashcrowd.papers.measured import Quantity
from flashcrowd.papers.repairs import Log
from flashcrowd.report import source as tables
from flashcrowd.report.measures import Measure

#: Payload of a full segment, and its bytes on the line.
SEGMENT, WIRE = 1448, 1500


def _of_logs(name: str, unit: str, value: Callable[[Log], float], note: str) -> Quantity:
    def found(study: StudyEvidence, given: Given) -> Measure:
        del given
        of_run = {run: value(log) for run, log in repairs.logs(study)}
        return Measure(name, unit, {r: v for r, v in of_run.items() if not np.isnan(v)}, note)

    return found


def _timeouts(log: Log) -> float:
    begins = log.state[np.isin(log.state, (repairs.DUPLICATES, repairs.TIMEOUT))]
    return 100 * float(np.mean(begins == repairs.TIMEOUT)) if len(begins) else np.nan


def _growth(log: Log) -> float:
    segments, rounds = repairs.growth(log, SEGMENT)
    return segments / rounds if rounds else np.nan


def _recovery_time(log: Log) -> float:
    took = [repair.took for repair in repairs.repairs(log)]
    return float(np.mean(took)) if took else np.nan


def unused(study: StudyEvidence, given: Given) -> Measure:
    """What of the line's capacity the download left."""
    del given
    rows = study.rows("transfers")
    line = Rate(str(study.results.study["network"]["groups"]["T3"]["access"]["down"])).bps
    used = tables.numbers(rows, "goodput_bps") * WIRE / SEGMENT / line
    runs = tables.integers(rows, "run").tolist()
    of_run = dict(zip(runs, (100 * (1 - used)).tolist(), strict=True))
    return Measure("unused capacity", "%", of_run, "1500 B on the line carry 1448 B of a file.")


MEASURES: Mapping[str, Quantity] = {
    "timeouts": _of_logs(
        "repairs that began with a timeout", "%", _timeouts,
        "Of all repairs: the others begin with three duplicate acknowledgements.",
    ),
    "growth": _of_logs(
        "growth of the window", "segments per round trip", _growth, "In congestion avoidance."
    ),
    "recovery-time": _of_logs(
        "recovery", "s", _recovery_time,
        "Time until the window is what it was before a loss, or until the next loss.",
    ),
    "unused": unused,
}  # fmt: skip
