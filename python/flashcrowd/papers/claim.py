"""Claims: the sentences of a paper that can be true or false, and how each is put to the test.

They are data (``claims.toml`` in the folder of a paper): where the sentence stands, what it says in
our words, which studies it needs, and the judge with its parameters. A judge is a function from
evidence and parameters to a finding; it never knows which verdict would be welcome.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from flashcrowd.papers import effects
from flashcrowd.papers.evidence import Evidence, Given, Untold
from flashcrowd.papers.verdict import Finding, Verdict

#: A way to put claims to the test.
Judge = Callable[[Evidence, Given], Finding]


@dataclass(frozen=True)
class Claim:
    """One sentence.

    Attributes:
        id: short name.
        section: where it stands in the paper.
        says: what it says, in our words.
        judge: name of the judge.
        needs: studies without which it cannot be judged.
        given: parameters of the judge.
        published: the number that the paper gives, if it gives one.
        note: what a reader should know about the test.
        reasons: effects to show if the claim is not reproduced, see :func:`effects.reason`.
        otherwise: our explanation, shown only if the claim is not reproduced.
        by_construction: which parameter was read off the sentence, so that the claim holds by
            construction; empty if none was.
        asks: why nothing can be right or wrong: the paper asks, and does not say what it expects.
            The number is shown, and the claim is not testable.
        main: whether it is a main finding of the paper, which comes first.
    """

    id: str
    section: str
    says: str
    judge: str
    needs: tuple[str, ...] = ()
    given: Given = field(default_factory=dict)
    published: str = ""
    note: str = ""
    reasons: tuple[Given, ...] = ()
    otherwise: str = ""
    by_construction: str = ""
    asks: str = ""
    main: bool = False


@dataclass(frozen=True)
class Judged:
    """A claim with its finding."""

    claim: Claim
    finding: Finding


def read(path: Path) -> list[Claim]:
    """The claims in a TOML file, in its order."""
    with path.open("rb") as file:
        entries = tomllib.load(file)["claim"]
    claims = [
        Claim(
            id=entry["id"],
            section=entry["section"],
            says=entry["says"],
            judge=entry["judge"],
            needs=tuple(entry.get("needs", ())),
            given=entry.get("given", {}),
            published=entry.get("published", ""),
            note=entry.get("note", ""),
            reasons=tuple(entry.get("reason", ())),
            otherwise=entry.get("otherwise", ""),
            by_construction=entry.get("by_construction", ""),
            asks=entry.get("asks", ""),
            main=entry.get("main", False),
        )
        for entry in entries
    ]
    names = [claim.id for claim in claims]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"{path}: claims with the same id: {', '.join(twice)}")
    return claims


def judge(claims: Sequence[Claim], evidence: Evidence, judges: Mapping[str, Judge]) -> list[Judged]:
    """Put every claim to the test."""
    return [Judged(claim, _finding(claim, evidence, judges)) for claim in claims]


def _finding(claim: Claim, evidence: Evidence, judges: Mapping[str, Judge]) -> Finding:
    if claim.id in evidence.untold:
        return Finding(Verdict.NOT_TESTABLE, evidence.untold[claim.id])
    missing = [name for name in claim.needs if name not in evidence.studies]
    if missing:
        return Finding(Verdict.NOT_RUN, f"needs {', '.join(missing)}")
    try:
        finding = judges[claim.judge](evidence, claim.given)
    except Untold as untold:
        return Finding(Verdict.NOT_TESTABLE, str(untold))
    if finding.verdict is Verdict.NOT_RUN and (lost := _without_good_runs(claim, evidence)):
        return Finding(Verdict.NOT_RUN, f"no run of {', '.join(lost)} ended as planned")
    if claim.asks and finding.verdict is not Verdict.NOT_RUN:
        return replace(finding, verdict=Verdict.NOT_TESTABLE).because(claim.asks)
    if finding.verdict is Verdict.REPRODUCED and claim.by_construction:
        return replace(finding, verdict=Verdict.BY_CONSTRUCTION).because(claim.by_construction)
    if finding.verdict in (Verdict.NOT_REPRODUCED, Verdict.OPEN):
        for given in claim.reasons:
            finding = finding.because(effects.reason(evidence, given))
        finding = finding.because(claim.otherwise)
    return finding


def _without_good_runs(claim: Claim, evidence: Evidence) -> list[str]:
    """The studies of a claim of which no run counts: real programs may all have been late."""
    points = {name: evidence[name].points.points for name in claim.needs}
    return [name for name, of in points.items() if not any(point.good_runs for point in of)]
