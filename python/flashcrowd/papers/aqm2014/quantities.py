"""Numbers of a run that this paper speaks of: who has how much, and who loses packets."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from flashcrowd.papers.evidence import Given, StudyEvidence
from flashcrowd.papers.measured import Quantity, named
from flashcrowd.papers.rossi2010.quantities import flows, queue_delay
from flashcrowd.report import source as tables
from flashcrowd.report.measures import Measure

_AFTER = "Goodput after the first minute."


def ratio(study: StudyEvidence, given: Given) -> Measure:
    """Goodput of a flow of low priority over that of a TCP flow; 1 is no priority at all."""
    del given

    def of(rates: Mapping[str, float]) -> float | None:
        tcp, low = _kinds(rates)
        return float(np.mean(low) / np.mean(tcp)) if tcp and low and sum(tcp) else None

    return _of_flows(study, "a flow of low priority over a TCP flow", of, np.inf)


def tcp_share(study: StudyEvidence, given: Given) -> Measure:
    """What all TCP flows have of the goodput."""
    del given

    def of(rates: Mapping[str, float]) -> float | None:
        tcp, low = _kinds(rates)
        return sum(tcp) / (sum(tcp) + sum(low)) if sum(tcp) + sum(low) else None

    return _of_flows(study, "TCP's share of the goodput", of, 1.0)


def tcp_lost(study: StudyEvidence, given: Given) -> Measure:
    """TCP's part of the segments that all flows send again, over that of the segments they send.

    At 1 a TCP segment is lost as often as one of low priority.
    """
    del given
    rows = study.results.tables["transfers"]
    runs, tcp = tables.integers(rows, "run"), np.array(tables.strings(rows, "transfer")) == "tcp"
    again, sent = tables.numbers(rows, "retransmits"), tables.numbers(rows, "segments")
    of_run = {}
    for run in np.unique(runs):
        mine = runs == run
        lost, segments = again[mine].sum(), sent[mine & tcp].sum() / sent[mine].sum()
        if lost and segments:
            of_run[int(run)] = float(again[mine & tcp].sum() / lost / segments)
    note = "At 1 a TCP segment is sent again as often as the others; over the whole run."
    return Measure("TCP's part of the losses over its part of the segments", "", of_run, note)


def _kinds(rates: Mapping[str, float]) -> tuple[list[float], list[float]]:
    tcp = [rate for name, rate in rates.items() if name.startswith("tcp/")]
    return tcp, [rate for name, rate in rates.items() if not name.startswith("tcp/")]


def _of_flows(
    study: StudyEvidence, name: str, of: Callable[[Mapping[str, float]], float | None], most: float
) -> Measure:
    found = {run: of(flows(study, run)) for run in study.points.runs}
    return Measure(
        name, "", {run: v for run, v in found.items() if v is not None}, _AFTER, most=most
    )


#: Each measure, by the name that claims use.
MEASURES: Mapping[str, Quantity] = {
    "ratio": ratio,
    "tcp-share": tcp_share,
    "tcp-lost": tcp_lost,
    "queue-delay": queue_delay,
}

#: The measure that `given` names, with its parameters.
measure = named(MEASURES)
