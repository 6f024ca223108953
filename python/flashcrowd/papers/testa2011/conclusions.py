"""Which conclusions of the paper survive each thing that it does not state: a table."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from flashcrowd.drawing.blocks import Cell, Table
from flashcrowd.papers import paper
from flashcrowd.papers.evidence import Evidence, Given
from flashcrowd.papers.testa2011.judges import JUDGES, MEASURES
from flashcrowd.papers.verdict import Verdict

#: Variations that have not all of the cases of ``populations``.
UNLIKE = ("service", "waits", "unbounded-buffers", "unbounded-service")


@dataclass(frozen=True)
class Conclusion:
    """A conclusion that can be put to the test in any study with the paper's sweep.

    Attributes:
        says: what it says, as the heading of a column.
        judge: name of the judge.
        given: its parameters but for the study.
    """

    says: str
    judge: str
    given: Given


def read() -> list[Conclusion]:
    """The conclusions, in the order of the paper."""
    with (Path(__file__).parent / "conclusions.toml").open("rb") as file:
        entries = tomllib.load(file)["conclusion"]
    return [Conclusion(one["says"], one["judge"], one["given"]) for one in entries]


def table(evidence: Evidence) -> Table:
    """A row for each variation that was run, a column for each conclusion."""
    found = read()
    rows: list[list[str | Cell]] = []
    for study, says in variations(evidence):
        row: list[str | Cell] = [says]
        for one in found:
            finding = JUDGES[one.judge](evidence, {**one.given, "study": study})
            if finding.verdict is Verdict.NOT_RUN:
                row.append("–")
                continue
            name = MEASURES[one.given["measure"]](evidence[study]).name
            number = finding.measured.partition(" at ")[0].removeprefix(name).strip()
            row.append(Cell(finding.verdict.value, number, finding.verdict.mark))
        rows.append(row)
    return Table(
        ["varied", *(one.says for one in found)],
        rows,
        "Verdict, deciding number with its 95 % interval, and count of runs. The first row is the "
        "swarm of the other figures; a dash stands for what was not run.",
        frozenset(range(len(found) + 1)),
    )


def variations(evidence: Evidence) -> Iterator[tuple[str, str]]:
    """Name and words of each study that varies one thing of ``populations``, that one first."""
    about = paper.load("testa2011")
    for name in evidence.studies:
        if name == "populations":
            yield name, "nothing"
        elif (says := about.variation(name).says) and name not in UNLIKE:
            yield name, says
