"""Time series of a study, by run and by what they belong to: means and unevenness of stretches."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from flashcrowd.papers.evidence import Given, StudyEvidence
from flashcrowd.report import source as tables


@dataclass(frozen=True)
class Curve:
    """What was sampled of one source in one run.

    Attributes:
        t_s: when; a rate is the mean since the sample before.
        value: the samples, in the unit of the table ``series``.
    """

    t_s: np.ndarray
    value: np.ndarray

    def between(self, from_s: float, to_s: float) -> np.ndarray:
        """The samples of a stretch: after `from_s`, up to `to_s`."""
        return self.value[(self.t_s > from_s + 1e-9) & (self.t_s <= to_s + 1e-9)]


#: The curves of one kind: by run, then by source.
Curves = Mapping[int, Mapping[str, Curve]]


def read(study: StudyEvidence, what: str) -> Curves:
    """All curves of `what`; empty if the study did not sample it."""
    kept: dict[str, Curves] = study.__dict__.setdefault("_curves", {})
    if what not in kept:
        kept[what] = _read(study, what)
    return kept[what]


def _read(study: StudyEvidence, what: str) -> Curves:
    rows = tables.table(study.results, "series")
    if rows is None:
        return {}
    rows = tables.where(rows, "what", what)
    sources = rows.column("source").combine_chunks().dictionary_encode()
    names, codes = sources.dictionary.to_pylist(), np.asarray(sources.indices)
    runs = tables.integers(rows, "run")
    t_s, value = tables.numbers(rows, "t_s"), tables.numbers(rows, "value")
    found: dict[int, dict[str, Curve]] = {}
    order = np.lexsort((t_s, codes, runs))
    pairs = np.stack([runs[order], codes[order]])
    starts = np.flatnonzero(np.any(np.diff(pairs, axis=1) != 0, axis=0)) + 1
    for mine in np.split(order, starts):
        if len(mine):
            curve = Curve(t_s[mine], value[mine])
            found.setdefault(int(runs[mine[0]]), {})[names[codes[mine[0]]]] = curve
    return found


def stretch(given: Given) -> tuple[float, float]:
    """From when to when a claim is about a run, in seconds: `from_s` and `to_s`, or all of it."""
    return float(given.get("from_s", 0.0)), float(given.get("to_s", np.inf))


def means(
    curves: Curves, source: str, from_s: float, to_s: float, factor: float = 1.0
) -> dict[int, float]:
    """Mean of `source` over a stretch, for each run, times `factor`."""
    found = {run: of[source].between(from_s, to_s) for run, of in curves.items() if source in of}
    return {run: factor * float(part.mean()) for run, part in found.items() if len(part)}


def unevenness(curves: Curves, source: str, from_s: float, to_s: float) -> dict[int, float]:
    """Standard deviation over mean of `source` in a stretch, for each run, in per cent."""
    found = {run: of[source].between(from_s, to_s) for run, of in curves.items() if source in of}
    return {
        run: 100 * float(part.std() / part.mean())
        for run, part in found.items()
        if len(part) > 1 and part.mean() > 0
    }
