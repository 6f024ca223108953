"""The page of a reproduction: the claims first, then each figure and table of the paper."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from flashcrowd.papers import claim as claims
from flashcrowd.papers.claim import Judged
from flashcrowd.papers.distance import Distance
from flashcrowd.papers.evidence import Evidence, Untold
from flashcrowd.papers.paper import Item, Paper
from flashcrowd.papers.verdict import Finding, Verdict
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


def write(
    paper: Paper,
    evidence: Evidence,
    judged: Sequence[Judged],
    out: Path,
    simulated: Sequence[Judged] | None = None,
    real: str = "",
    distances: Sequence[Distance] = (),
) -> Path:
    """Write ``report.html``, ``figures/*.svg`` and ``claims.json`` into `out`.

    Args:
        paper: the paper.
        evidence: what was measured.
        judged: its claims with their findings.
        out: the folder.
        simulated: what the simulation says, beside real programs.
        real: the engine of these programs.
        distances: how far both are from each other.
    """
    path = page.save(build(paper, evidence, judged, simulated, real, distances), out)
    atomic.write_json(out / "claims.json", as_data(paper, evidence, judged, simulated))
    return path


def build(
    paper: Paper,
    evidence: Evidence,
    judged: Sequence[Judged],
    simulated: Sequence[Judged] | None = None,
    real: str = "",
    distances: Sequence[Distance] = (),
) -> Page:
    """The page, not yet laid out."""
    quick = paper.says_of_quick(real) if evidence.quick else ""
    mode = f" ({quick.split(':')[0]})" if quick else ""
    drawn = [item for item in paper.items if evidence.has(item.studies)]
    sections = [
        Section("The paper", "paper", list(_about(paper, evidence))),
        Section(f"Claims{mode}", "claims", list(_claims(judged, simulated)), "Claims"),
        Section(
            f"Published and measured{mode}",
            "published",
            [_published(judged)],
            "Published and measured",
        ),
        *([_distances(distances, mode)] if distances else []),
        *(_item(paper, item, evidence, mode) for item in drawn),
        Section("What was run", "runs", [_runs(evidence)]),
    ]
    warnings = [" ".join(paper.about[real]["says"].split())] if real else []
    if quick:
        warnings.append(
            f"{quick[0].upper()}{quick[1:]}. The paper's own size takes a full campaign."
        )
    return Page(
        title=f"{paper.name} {'on real programs' if real else 'reproduced'}{mode}",
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


def as_data(
    paper: Paper,
    evidence: Evidence,
    judged: Sequence[Judged],
    simulated: Sequence[Judged] | None = None,
) -> dict[str, object]:
    """The verdicts for machines."""
    beside = {it.claim.id: it.finding for it in simulated or ()}
    return {
        "paper": paper.name,
        "quick": evidence.quick,
        "claims": [
            {
                "id": j.claim.id, "section": j.claim.section, "says": j.claim.says,
                "verdict": j.finding.verdict.value, "measured": j.finding.measured,
                "n": j.finding.n, "why": j.finding.why,
                **_of_simulation(beside.get(j.claim.id)),
            }
            for j in judged
        ],
    }  # fmt: skip


def _of_simulation(found: Finding | None) -> dict[str, object]:
    """What the simulation says of a claim, where real programs were asked."""
    if found is None:
        return {}
    return {
        "simulation": {"verdict": found.verdict.value, "measured": found.measured, "n": found.n}
    }


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


def _claims(judged: Sequence[Judged], simulated: Sequence[Judged] | None = None) -> Iterator[Block]:
    yield Text(VERDICTS)
    beside = {it.claim.id: it.finding for it in simulated or ()}
    rows = []
    for one in judged:
        claim, finding = one.claim, one.finding
        says = Cell(claim.says, claim.note)
        measured = Cell(finding.measured, finding.why)
        verdict = Cell(finding.verdict.value, mark=finding.verdict.mark)
        row = [claim.section, says, verdict, measured]
        if one.claim.id in beside:
            other = beside[claim.id]
            row.append(Cell(other.verdict.value, other.measured, other.verdict.mark))
        rows.append(row)
    header = ["section", "what the paper says", "verdict", "measured"]
    if beside:
        header = [*header[:2], "real programs", "measured", "simulation"]
    caption = (
        "The paper's sentences in its order and in our words; small print is ours. Every verdict "
        "is computed from the runs."
    )
    if beside:
        caption += " Both engines ran the same studies, and one code judges both."
    yield Table(header, rows, caption, frozenset(range(len(header))))


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


def _distances(distances: Sequence[Distance], mode: str) -> Section:
    rows: list[list[str | Cell]] = [
        [distance.study, sentence] for distance in distances for sentence in distance.sentences
    ]
    caption = "Differences between the engines, in pairs of runs with the same seed."
    table = Table(["study", "how far apart"], rows, caption, frozenset({0, 1}))
    return Section(f"Distance between the engines{mode}", "distances", [table], "Engines")


def _item(paper: Paper, item: Item, evidence: Evidence, mode: str) -> Section:
    try:
        drawn = list(paper.figures[item.id](evidence))
    except Untold as untold:
        drawn = [Text(f"Not drawn: {untold}.")]
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
