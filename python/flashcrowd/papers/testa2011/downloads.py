"""The completion samples of the paper: which downloads count, and who made them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from flashcrowd.papers.evidence import StudyEvidence
from flashcrowd.report import source
from flashcrowd.report.points import Point
from flashcrowd.report.source import by_run


@dataclass(frozen=True)
class Completions:
    """The downloads of one run that were completed, in the order of their completion.

    Attributes:
        duration_s: from arrival to completion.
        population: who made them.
        discarded: how many at the beginning belong to the transient.
    """

    duration_s: np.ndarray
    population: np.ndarray
    discarded: int

    def kept(self, who: str = "") -> np.ndarray:
        """Durations that count, in seconds, of populations whose names begin with `who`."""
        names = self.population[self.discarded :]
        mine = np.array([name.startswith(who) for name in names], dtype=bool)
        return self.duration_s[self.discarded :][mine]


def completions(study: StudyEvidence) -> dict[int, Completions]:
    """The completions of each run, of which the first half is discarded as the paper does."""
    rows = study.results.tables["downloads"]
    runs, names = source.integers(rows, "run"), source.strings(rows, "population")
    done, duration = source.numbers(rows, "completed_s"), source.numbers(rows, "duration_s")
    found = {}
    for run, members in by_run(runs, ~np.isnan(duration)):
        order = members[np.argsort(done[members], kind="stable")]
        found[run] = Completions(duration[order], names[order], len(order) // 2)
    return found


def kept(study: StudyEvidence, point: Point, who: str = "") -> np.ndarray:
    """The download times that count, of all runs of `point` together, sorted, in seconds."""
    found = completions(study)
    parts = [found[run.run].kept(who) for run in point.good_runs if run.run in found]
    return np.sort(np.concatenate(parts)) if parts else np.empty(0)
