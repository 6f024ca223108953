"""Judges that only this paper needs: about waits in the uplinks of leechers, and about mixtures."""

from __future__ import annotations

import numpy as np

from flashcrowd.papers import cases, verdict
from flashcrowd.papers.claim import Judge
from flashcrowd.papers.evidence import Evidence, Given, StudyEvidence
from flashcrowd.papers.verdict import Finding
from flashcrowd.report import source, wording
from flashcrowd.report.measures import Measure
from flashcrowd.report.source import by_run
from flashcrowd.report.statistics import Estimate


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


def soonest(evidence: Evidence, given: Given) -> Finding:
    """At one point of `where` at least downloads take less time than at each of `against`."""
    study = evidence[given["study"]]
    changes: dict[str, list[Estimate]] = {}
    for against in given["against"]:
        where = cases.given_where(given)
        for case in cases.changes(study, study.download_time, where, against):
            changes.setdefault(case.at, []).append(case.found)
    mixtures = {at: of for at, of in changes.items() if len(of) == len(given["against"])}
    if not mixtures:
        return cases.NOTHING
    worst = {at: max(of, key=lambda one: one.mean) for at, of in mixtures.items()}
    nearest = min(worst, key=lambda at: worst[at].mean)
    text = f"{wording.per_cent(worst[nearest])} at {nearest}"
    if len(mixtures) > 1:
        text += f", the nearest of {len(mixtures)} cases"
    each = [verdict.all_of(verdict.less_than(one, 0.0) for one in of) for of in mixtures.values()]
    return Finding(verdict.any_of(each), text, worst[nearest].n)


JUDGES: dict[str, Judge] = {"waits-less": waits_less, "soonest": soonest}
