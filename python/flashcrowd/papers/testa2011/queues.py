"""Uplink queues: how often they were how long."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from flashcrowd.papers.evidence import StudyEvidence
from flashcrowd.report import source
from flashcrowd.report.measures import Measure
from flashcrowd.report.points import Point
from flashcrowd.report.source import by_run

_SAMPLED = "Uplinks of peers that are online, sampled ten times a second."


@dataclass(frozen=True)
class Above:
    """Complementary distribution of a queue's length.

    Attributes:
        packets: lengths, increasing from 0.
        share: share of the samples that are longer than each.
    """

    packets: np.ndarray
    share: np.ndarray


def above(study: StudyEvidence, point: Point, who: str = "") -> Above:
    """Share of the samples above each length, all runs of `point` together."""
    wanted = {run.run for run in point.good_runs}
    total = np.zeros(1)
    for run, packets, samples in _histograms(study, who):
        if run in wanted:
            counts = np.bincount(packets, weights=samples)
            longer, shorter = (counts, total) if len(counts) > len(total) else (total, counts)
            total = longer.copy()
            total[: len(shorter)] += shorter
    if not total.sum():
        return Above(np.empty(0), np.empty(0))
    return Above(np.arange(len(total)), 1 - np.cumsum(total) / total.sum())


def mean_length(study: StudyEvidence, who: str = "") -> Measure:
    """Mean length of the uplinks' queues, in packets."""
    found = {
        run: float((packets * samples).sum() / samples.sum())
        for run, packets, samples in _histograms(study, who)
    }
    return Measure("mean uplink queue", "packets", found, _SAMPLED)


def longer(study: StudyEvidence, packets: int, who: str = "", *, online: bool = True) -> Measure:
    """Share of the samples of more than `packets` packets, in per cent.

    Without `online`, the uplinks of hosts count as well whose peer has not come yet or is gone.
    """
    found = {
        run: 100 * float(samples[lengths > packets].sum() / samples.sum())
        for run, lengths, samples in _histograms(study, who, "online" if online else "count")
    }
    return Measure(f"samples above {packets} packets", "%", found, _SAMPLED, most=100.0)


def _histograms(
    study: StudyEvidence, who: str, column: str = "online"
) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
    """Lengths and counts of the samples of each run, of groups that begin with `who`.

    Groups are called after the populations on their hosts.
    """
    rows = study.results.tables["queues"]
    runs, names = source.integers(rows, "run"), source.strings(rows, "owner")
    packets, samples = source.integers(rows, "packets"), source.numbers(rows, column)
    mine = np.array([name.startswith(who) for name in names], dtype=bool)
    mine &= source.strings(rows, "way") == "up"
    for run, members in by_run(runs, mine):
        if samples[members].sum():
            yield run, packets[members], samples[members]
