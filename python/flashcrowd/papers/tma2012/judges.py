"""The judge that only this paper needs: how long packets wait in the uplinks of leechers."""

from __future__ import annotations

import numpy as np

from flashcrowd.papers import cases, verdict
from flashcrowd.papers.claim import Judge
from flashcrowd.papers.evidence import Evidence, Given, StudyEvidence
from flashcrowd.papers.verdict import Finding
from flashcrowd.report import source, wording
from flashcrowd.report.measures import Measure
from flashcrowd.report.source import by_run


def uplink_wait(study: StudyEvidence) -> Measure:
    """The mean wait of a packet in the uplinks of all leechers, in seconds."""
    rows = study.results.tables["links"]
    names = rows.column("link").to_pylist()
    leechers = np.array([it.endswith(" up") and not it.startswith("server-") for it in names])
    packets = source.numbers(rows, "packets")
    waits = source.numbers(rows, "mean_queue_delay_s")
    used = leechers & (packets > 0) & ~np.isnan(waits)
    found = {
        run: float(np.average(waits[who], weights=packets[who]))
        for run, who in by_run(source.integers(rows, "run"), used)
    }
    return Measure("mean wait in uplinks", "s", found, "Of a packet, in all leechers' uplinks.")


def waits_less(evidence: Evidence, given: Given) -> Finding:
    """At every point of `where` packets wait less in the uplinks than at `against`."""
    study = evidence[given["study"]]
    measure = study.once("uplink-wait", lambda: uplink_wait(study))
    return cases.conclude(
        cases.changes(study, measure, cases.given_where(given), given["against"]),
        lambda found: verdict.less_than(found, 0.0),
        lambda found: found.mean,
        wording.per_cent,
    )


JUDGES: dict[str, Judge] = {"waits-less": waits_less}
