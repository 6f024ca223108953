"""What the mixtures take, as a table."""

from __future__ import annotations

from collections.abc import Iterator

from flashcrowd.drawing.blocks import Block
from flashcrowd.papers.evidence import Evidence
from flashcrowd.papers.paper import Draw
from flashcrowd.papers.tables import level_grid
from flashcrowd.papers.tma2012.judges import uplink_wait


def _mixtures(evidence: Evidence) -> Iterator[Block]:
    for name in ("mixtures", "leave", "shallow", "target-25"):
        if evidence.has([name]):
            study = evidence[name]
            yield level_grid(study, [study.download_time, uplink_wait(study)], study.points.points)


FIGURES: dict[str, Draw] = {"mixtures": _mixtures}
