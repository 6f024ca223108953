"""Which sentences about controllers survive each thing that the paper does not state."""

from __future__ import annotations

from collections.abc import Iterator

from flashcrowd.drawing.blocks import Block, Cell, Table, Text
from flashcrowd.papers import paper
from flashcrowd.papers.claim import Claim
from flashcrowd.papers.evidence import Evidence
from flashcrowd.papers.pan2009.judges import JUDGES
from flashcrowd.papers.verdict import Verdict
from flashcrowd.report import wording

#: The study that is varied.
_LINES = "lines"


def draw(evidence: Evidence) -> Iterator[Block]:
    """Each sentence with the variations in which it holds, and in which not."""
    about = paper.load("pan2009")
    varied = [(name, says) for name, says in variations(about) if name in evidence.studies]
    if not varied:
        yield Text("Quick mode runs the lines as assumed, and no variation of them.")
        return
    listed = "; ".join(says for _, says in varied)
    yield Text(f"The eight lines with the controllers, one thing changed at a time: {listed}.")
    yield Table(
        ["what the paper says", "as assumed", "reproduced in", "otherwise"],
        [_row(evidence, claim, varied) for claim in about.claims if _is_about_lines(claim)],
        f"Of {wording.count(len(varied), 'variation')}, those in which a sentence is reproduced, "
        "and the deciding number in the others.",
        frozenset({0, 1, 2, 3}),
    )


def variations(about: paper.Paper) -> Iterator[tuple[str, str]]:
    """Name and words of each study that varies one thing of the lines."""
    for name in about.studies:
        says = about.variation(name).says
        if says and about.file(name) == about.file(_LINES):
            yield name, says


def _is_about_lines(claim: Claim) -> bool:
    return claim.given.get("study") == _LINES


def _row(evidence: Evidence, claim: Claim, varied: list[tuple[str, str]]) -> list[str | Cell]:
    judge = JUDGES[claim.judge]
    given = {key: value for key, value in claim.given.items() if key != "beside"}
    own = judge(evidence, given)
    good, others = [], []
    for name, says in varied:
        finding = judge(evidence, {**given, "study": name})
        if finding.verdict is Verdict.REPRODUCED:
            good.append(says)
        elif finding.verdict is not Verdict.NOT_RUN:
            number = finding.measured.partition(", the worst of")[0]
            others.append(f"{says}: {finding.verdict.value}, {number}")
    return [
        claim.says,
        Cell(own.verdict.value, mark=own.verdict.mark),
        Cell(f"{len(good)} of {len(varied)}", "; ".join(good)),
        Cell("", "\n".join(others)),
    ]
