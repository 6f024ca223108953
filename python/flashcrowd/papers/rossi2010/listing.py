"""Numbers at points, a row a point, with this paper's names."""

from __future__ import annotations

from collections.abc import Sequence

from flashcrowd.drawing.blocks import Table
from flashcrowd.papers import listing as general
from flashcrowd.papers.evidence import StudyEvidence
from flashcrowd.papers.rossi2010.words import described
from flashcrowd.report.measures import Measure


def listing(
    study: StudyEvidence, measures: Sequence[Measure], *, what: str = "", folded: bool = False
) -> Table:
    """Means over the runs of every point, with their intervals."""
    return general.listing(study, measures, described, what=what, folded=folded)
