"""How far two engines are from each other where both have run a paper's studies."""

from __future__ import annotations

from dataclasses import dataclass

from flashcrowd.engines import registry
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


def between(simulated: Evidence, real: Evidence, engine: str) -> list[Distance]:
    """The distance in each study that both have run; where no two runs can be compared, why.

    `engine` is the name of that of real programs.
    """
    found = []
    for name in real.studies:
        if name in simulated.studies:
            engines = ((simulated, registry.DEFAULT), (real, engine))
            sides = [comparing.Side.of(of.studies[name].results, by) for of, by in engines]
            try:
                sentences = tuple(comparing.compare_sides(sides).answer())
            except comparing.Incomparable as error:
                sentences = (str(error),)
            found.append(Distance(name, sentences))
    return found
