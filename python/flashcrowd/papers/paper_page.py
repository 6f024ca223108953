"""The page of a reproduction: the claims first, then each figure and table of the paper."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from flashcrowd.papers import claim as claims
from flashcrowd.papers.claim import Judged
from flashcrowd.papers.evidence import Evidence
from flashcrowd.papers.paper import Item, Paper
from flashcrowd.papers.verdict import Verdict
from flashcrowd.report import page, wording
from flashcrowd.report.blocks import Block, Cell, Facts, Page, Section, Table, Text
from flashcrowd.report.study_page import METHOD
from flashcrowd.store import atomic

#: What the verdicts mean, beside the table.
VERDICTS = (
    "A sentence is reproduced if the whole 95 % interval of the deciding number keeps it, not "
    "reproduced if the whole interval breaks it, and undecided if the bound lies inside the "
    "interval: then more runs would tell. A sentence about many cases needs all of them."
)


def write(paper: Paper, evidence: Evidence, judged: Sequence[Judged], out: Path) -> Path:
    """Write ``report.html``, ``figures/*.svg`` and ``claims.json`` into `out`."""
    path = page.save(build(paper, evidence, judged), out)
    atomic.write_json(out / "claims.json", as_data(paper, evidence, judged))
    return path


def build(paper: Paper, evidence: Evidence, judged: Sequence[Judged]) -> Page:
    """The page, not yet laid out."""
    mode = f" ({paper.about['quick']['says'].split(':')[0]})" if evidence.quick else ""
    drawn = [item for item in paper.items if evidence.has(item.studies)]
    sections = [
        Section("The paper", "paper", list(_about(paper, evidence))),
        Section(f"Claims{mode}", "claims", list(_claims(judged)), "Claims"),
        Section(
            f"Published and measured{mode}",
            "published",
            [_published(judged)],
            "Published and measured",
        ),
        *(_item(paper, item, evidence, mode) for item in drawn),
        Section("What was run", "runs", [_runs(evidence)]),
    ]
    warnings = []
    if evidence.quick:
        says = paper.about["quick"]["says"]
        warnings.append(f"{says[0].upper()}{says[1:]}. The paper's own size takes a full campaign.")
    return Page(
        title=f"{paper.name} reproduced{mode}",
        lead=tally(judged),
        sections=sections,
        foot=METHOD,
        warnings=warnings,
    )


def tally(judged: Sequence[Judged]) -> str:
    """How many claims met which verdict, in one sentence."""
    counts = [(v, sum(j.finding.verdict is v for j in judged)) for v in Verdict]
    parts = ", ".join(f"{count} {v.value}" for v, count in counts if count)
    return f"{wording.count(len(judged), 'claim')}: {parts}."


def as_data(paper: Paper, evidence: Evidence, judged: Sequence[Judged]) -> dict[str, object]:
    """The verdicts for machines."""
    return {
        "paper": paper.name,
        "quick": evidence.quick,
        "claims": [
            {
                "id": j.claim.id, "section": j.claim.section, "says": j.claim.says,
                "verdict": j.finding.verdict.value, "measured": j.finding.measured,
                "n": j.finding.n, "why": j.finding.why,
            }
            for j in judged
        ],
    }  # fmt: skip


def _about(paper: Paper, evidence: Evidence) -> Iterator[Block]:
    about = paper.about
    yield Facts(
        [
            ("title", about["title"]),
            ("authors", about["authors"]),
            ("published", about["published"]),
        ]
    )
    yield Text(" ".join(about["lead"].split()))
    yield Text(" ".join(about["missing"].split()))


def _claims(judged: Sequence[Judged]) -> Iterator[Block]:
    yield Text(VERDICTS)
    rows = []
    for one in judged:
        claim, finding = one.claim, one.finding
        says = Cell(claim.says, claim.note)
        measured = Cell(finding.measured, finding.why)
        verdict = Cell(finding.verdict.value, mark=finding.verdict.mark)
        rows.append([claim.section, says, verdict, measured])
    yield Table(
        ["section", "what the paper says", "verdict", "measured"],
        rows,
        "The paper's sentences in its order and in our words; small print is ours. Every verdict "
        "is computed from the runs.",
        frozenset({0, 1, 2, 3}),
    )


def _published(judged: Sequence[Judged]) -> Table:
    rows = [
        [
            one.claim.says,
            one.claim.published,
            one.finding.measured,
            Cell(one.finding.verdict.value, mark=one.finding.verdict.mark),
        ]
        for one in judged
        if one.claim.published
    ]
    return Table(
        ["what", "published", "measured", "verdict"],
        rows,
        "The numbers that stand in the text of the paper, beside ours.",
        frozenset({0, 1, 2, 3}),
    )


def _item(paper: Paper, item: Item, evidence: Evidence, mode: str) -> Section:
    drawn = list(paper.figures[item.id](evidence))
    return Section(f"{item.title}{mode}", item.id, drawn, item.title)


def _runs(evidence: Evidence) -> Table:
    rows: list[list[str | Cell]] = []
    for study in evidence.studies.values():
        runs = study.points.runs
        bad = sum(not run.good for run in runs.values())
        provenance = study.results.provenance
        rows.append(
            [
                study.name,
                str(study.results.study.get("title", "")),
                str(len(study.points.points)),
                str(len(runs)),
                Cell(f"{bad}", mark="bad") if bad else "0",
                f"{provenance.get('version', '?')}, {provenance.get('commit', '?')}",
            ]
        )
    return Table(
        ["study", "title", "points", "runs", "not complete", "version, commit"],
        rows,
        "Each study has a results folder of its own, with every default in study.json.",
        frozenset({0, 1, 5}),
    )


def judged_by(paper: Paper, evidence: Evidence) -> list[Judged]:
    """Every claim of `paper` with its finding."""
    return claims.judge(paper.claims, evidence, paper.judges)
