"""How far two engines are from each other where both have run a paper's studies."""

from __future__ import annotations

from dataclasses import dataclass

from flashcrowd.papers.evidence import Evidence
from flashcrowd.report import compare as comparing


@dataclass(frozen=True)
class Distance:
    """What a comparison says of one study.

    Attributes:
        study: its name.
        sentences: one for each measure.
    """

    study: str
    sentences: tuple[str, ...]


def between(simulated: Evidence, real: Evidence) -> list[Distance]:
    """The distance in each study that both have run; where no two runs can be compared, why."""
    found = []
    for name in real.studies:
        if name in simulated.studies:
            results = [each.studies[name].results for each in (simulated, real)]
            sides = [comparing.Side.of(it, it.manifest.engine.name) for it in results]
            try:
                sentences = tuple(comparing.compare_sides(sides).answer())
            except comparing.Incomparable as error:
                sentences = (str(error),)
            found.append(Distance(name, sentences))
    return found
