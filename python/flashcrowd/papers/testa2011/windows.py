"""Which sentences of the paper hold with ns-2's window of 20 packets, and without it: a table."""

from __future__ import annotations

from collections.abc import Iterator

from flashcrowd.drawing.blocks import Block, Cell, Table, Text
from flashcrowd.papers import paper
from flashcrowd.papers.claim import Claim
from flashcrowd.papers.evidence import Evidence
from flashcrowd.papers.testa2011.judges import JUDGES
from flashcrowd.papers.verdict import Finding, Verdict
from flashcrowd.report import wording

#: The studies of the paper's own cases, and the same without a bound of the window.
UNBOUNDED = {
    "populations": "unbounded",
    "buffers": "unbounded-buffers",
    "service": "unbounded-service",
}


def draw(evidence: Evidence) -> Iterator[Block]:
    """How many sentences get the same verdict with the window and without, and each of them."""
    found = list(findings(evidence))
    alike = [bounded for _, bounded, free in found if bounded.verdict is free.verdict]
    each = ", ".join(
        f"{count} {verdict.value}"
        for verdict in Verdict
        if (count := sum(finding.verdict is verdict for finding in alike))
    )
    yield Text(
        "No sender of ns-2 has more than 20 packets in flight unless window_ is set, and "
        "neither the BitTorrent module nor the paper says that it did. Each sentence about the "
        "paper's own cases is put to the test with that bound and without: of "
        f"{wording.count(len(found), 'sentence')} {len(alike)} get the same verdict ({each})."
    )
    yield Table(
        ["what the paper says", "window of 20 packets", "no bound"],
        [[claim.says, _cell(bounded), _cell(free)] for claim, bounded, free in found],
        "Verdict and deciding number with its 95 % interval. The verdicts of the table of claims "
        "are those of the first column.",
        frozenset({0, 1, 2}),
    )


def findings(evidence: Evidence) -> Iterator[tuple[Claim, Finding, Finding]]:
    """Each sentence about one of these studies, as it is with the window and without."""
    for claim in paper.load("testa2011").claims:
        bounded = claim.given.get("study", "")
        free = UNBOUNDED.get(bounded, "")
        if claim.judge == "explained" or not evidence.has((bounded, free)):
            continue
        judge = JUDGES[claim.judge]
        yield claim, judge(evidence, claim.given), judge(evidence, {**claim.given, "study": free})


def _cell(finding: Finding) -> Cell:
    return Cell(finding.verdict.value, finding.measured, finding.verdict.mark)
