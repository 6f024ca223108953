"""Which sentences about Circus other policies fulfil as well: the same judges, another policy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from flashcrowd.drawing.blocks import Block, Cell, Table, Text
from flashcrowd.papers import paper
from flashcrowd.papers.circus2004.judges import JUDGES
from flashcrowd.papers.circus2004.words import CIRCUS
from flashcrowd.papers.claim import Claim, judge
from flashcrowd.papers.evidence import Evidence, Given


def instead(given: Given, name: str) -> Given:
    """What a claim about Circus says, of another policy."""

    def changed(value: object) -> object:
        if isinstance(value, Mapping):
            return {key: changed(each) for key, each in value.items()}
        if isinstance(value, list):
            return [changed(each) for each in value]
        return name if value == CIRCUS else value

    return {key: changed(value) for key, value in given.items() if key not in ("beside", "literal")}


def about_circus(claims: Sequence[Claim]) -> list[Claim]:
    """The claims that any other policy may be put in."""
    return [
        claim for claim in claims
        if instead(claim.given, "attach") != instead(claim.given, CIRCUS)
        and f"{CIRCUS}, " not in str(claim.given) and "relevance" not in str(claim.given)
    ]  # fmt: skip


def drawn(evidence: Evidence) -> Iterator[Block]:
    """Each such sentence with its verdict on Circus, attach and relevance."""
    claims = about_circus(paper.load("circus2004").claims)
    rows: list[list[str | Cell]] = []
    names = (CIRCUS, "attach", "relevance")
    held = dict.fromkeys(names, 0)
    for claim in claims:
        row: list[str | Cell] = [claim.section, claim.says]
        for name in names:
            other = Claim(claim.id, "", "", claim.judge, claim.needs, instead(claim.given, name))
            found = judge([other], evidence, JUDGES)[0].finding
            held[name] += found.verdict.value == "reproduced"
            row.append(Cell(found.verdict.value, found.measured, found.verdict.mark))
        rows.append(row)
    yield Text(
        "Each sentence about out-of-order service is judged again with another policy in the place "
        f"of Circus, by the same code. Of {len(claims)}, Circus fulfils {held[CIRCUS]}, attach "
        f"{held['attach']} and relevance {held['relevance']}."
    )
    yield Table(
        ["section", "what the paper says", *names], rows,
        "Sentences about Circus, with others in its place.",
        frozenset(range(5)),
    )  # fmt: skip
