"""The null world: the runs of a study shuffled among its points, so that no setting has an effect.

A claim that is reproduced there as well is not held up by what was measured at each point. It may
compare inside a run, or compute a number of the text; or its judge is too easy.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from flashcrowd.papers.claim import Claim, Judge, judge
from flashcrowd.papers.evidence import Evidence, StudyEvidence
from flashcrowd.papers.verdict import Verdict
from flashcrowd.report import source
from flashcrowd.report.compare_side import Side
from flashcrowd.report.points import RUN_COLUMNS
from flashcrowd.report.source import Source


@dataclass(frozen=True)
class NullWorld:
    """What is left of the claims that were reproduced.

    Attributes:
        shuffles: how often the runs were shuffled.
        reproduced: ids of the claims that the runs as they are reproduce.
        survived: how many of these were reproduced after each shuffle.
        always: ids of those that were reproduced after each.
    """

    shuffles: int
    reproduced: tuple[str, ...]
    survived: tuple[int, ...]
    always: tuple[str, ...]

    @property
    def sentence(self) -> str:
        """What came of it, in a sentence or two."""
        mean = sum(self.survived) / self.shuffles
        text = (
            f"With the runs shuffled among the points, {mean:.3g} of these "
            f"{len(self.reproduced)} claims are reproduced (mean of {self.shuffles} shuffles)."
        )
        return f"{text} Always: {', '.join(self.always)}." if self.always else text


def visit(
    claims: Sequence[Claim], evidence: Evidence, judges: Mapping[str, Judge], shuffles: int
) -> NullWorld:
    """Judge the claims again after each of these shuffles."""

    def reproduced(world: Evidence) -> set[str]:
        judged = judge(claims, world, judges)
        return {it.claim.id for it in judged if it.finding.verdict is Verdict.REPRODUCED}

    first = reproduced(evidence)
    left = [reproduced(shuffled(evidence, seed)) & first for seed in range(shuffles)]
    always = first.intersection(*left)
    order = [claim.id for claim in claims]
    return NullWorld(
        shuffles,
        tuple(it for it in order if it in first),
        tuple(map(len, left)),
        tuple(it for it in order if it in always),
    )


def shuffled(evidence: Evidence, seed: int) -> Evidence:
    """The same runs at other points of their study, each with one run of each repeat."""
    random = np.random.default_rng(seed)
    studies = {
        name: StudyEvidence(name, _shuffled(study.results, random), study.names)
        for name, study in evidence.studies.items()
    }
    return replace(evidence, studies=studies)


def _shuffled(results: Source, random: np.random.Generator) -> Source:
    runs = results.tables["runs"]
    repeats = source.integers(runs, "repeat")
    moved = np.arange(runs.num_rows)
    for repeat in np.unique(repeats):
        of_repeat = np.flatnonzero(repeats == repeat)
        moved[of_repeat] = random.permutation(of_repeat)
    settings = [name for name in runs.column_names if name == "point" or name not in RUN_COLUMNS]
    for name in settings:
        at = runs.column_names.index(name)
        runs = runs.set_column(at, runs.schema.field(name), runs.column(name).take(pa.array(moved)))
    return replace(Side.of(results, "shuffled"), tables={**results.tables, "runs": runs})
