"""The page of a reproduction: the claims first, then each figure and table of the paper."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from flashcrowd.drawing import page
from flashcrowd.drawing.blocks import Block, Cell, Facts, Page, Section, Table, Text
from flashcrowd.papers import claim as claims
from flashcrowd.papers import verdict
from flashcrowd.papers.claim import Judged
from flashcrowd.papers.distance import Distance
from flashcrowd.papers.evidence import Evidence, Untold
from flashcrowd.papers.paper import Item, Paper
from flashcrowd.papers.verdict import Finding, Verdict
from flashcrowd.report import wording
from flashcrowd.report.study_page import METHOD
from flashcrowd.store import atomic, page_folder

#: Of each claim the item that shows what it is about, by the claim's id.
ShownIn = Mapping[str, Item]

#: Longer tables of claims are folded: what was not reproduced stands before them.
_MOST_ROWS = 12

#: What the verdicts mean, beside the table.
VERDICTS = (
    f"{verdict.MEANING}: then more runs would tell. A sentence about many cases needs all of them. "
    "One that asserts nothing that can be measured here is not testable; where it asks, our number "
    "is shown."
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
    made = build(paper, evidence, judged, simulated, real, distances)
    path = page_folder.save(page.html(made), page.figures(made), out)
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
    shown_in = _shown_in(drawn, judged)
    missed = list(not_reproduced(judged, shown_in))
    sections = [
        *([Section(f"Not reproduced{mode}", "missed", missed, "Not reproduced")] if missed else []),
        Section("The paper", "paper", list(_about(paper, evidence))),
        Section(f"Claims{mode}", "claims", list(_claims(judged, shown_in, simulated)), "Claims"),
        *_published(judged, mode),
        *([_distances(distances, mode)] if distances else []),
        *(_item(paper, item, evidence, mode) for item in drawn),
        Section("What was run", "runs", [_runs(evidence)]),
    ]
    warnings = [" ".join(paper.about[real]["says"].split())] if real else []
    if quick:
        warnings.append(
            f"{quick[0].upper()}{quick[1:]}. Without --quick the runs have the full size."
        )
    return Page(
        title=f"{paper.name} {'on real programs' if real else 'reproduced'}{mode}",
        lead=" ".join([*map(_main, main_findings(judged)), tally(judged)]),
        sections=sections,
        foot=METHOD,
        warnings=warnings,
    )


def not_reproduced(judged: Sequence[Judged], shown_in: ShownIn) -> Iterator[Block]:
    """The sentences that did not hold, each with the paper's number and ours."""
    missed = [one for one in judged if one.finding.verdict is Verdict.NOT_REPRODUCED]
    if not missed:
        return
    rows = [
        [
            one.claim.section,
            Cell(one.claim.says, one.claim.note),
            one.claim.published or "–",
            Cell(one.finding.measured, one.finding.why),
            *_links(one, shown_in),
        ]
        for one in missed
    ]
    caption = f"The {wording.count(len(missed), 'sentence')} that our runs break. All are below."
    yield Table(_with_links(["section", "what the paper says", "paper", "measured"], shown_in),
                rows, caption, frozenset(range(5)))  # fmt: skip


def _shown_in(drawn: Sequence[Item], judged: Sequence[Judged]) -> ShownIn:
    """Of each claim the figure or table that shows its studies and fewest others."""
    found = {}
    for one in judged:
        needs = set(one.claim.needs)
        showing = [item for item in drawn if needs & {*item.studies, *item.also}]
        if needs and showing:
            found[one.claim.id] = min(
                showing,
                key=lambda item: (
                    len(needs - {*item.studies, *item.also}), len({*item.studies, *item.also})
                ),
            )  # fmt: skip
    return found


def _links(one: Judged, shown_in: ShownIn) -> list[str | Cell]:
    """The cell with the figure of a claim; none where no claim has a figure."""
    if not shown_in:
        return []
    item = shown_in.get(one.claim.id)
    return [Cell("–") if item is None else Cell(item.title.partition(":")[0], target=item.id)]


def _with_links(header: list[str], shown_in: ShownIn) -> list[str]:
    return [*header, "shown in"] if shown_in else header


def main_findings(judged: Sequence[Judged]) -> list[Judged]:
    """The main findings of a paper as far as they were put to the test."""
    return [one for one in judged if one.claim.main and one.finding.verdict is not Verdict.NOT_RUN]


def _main(one: Judged) -> str:
    """A main finding with its verdict, as a sentence."""
    return f"Main finding, {one.finding.verdict.value}: {one.claim.says}"


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
                "main": j.claim.main,
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


def _claims(
    judged: Sequence[Judged], shown_in: ShownIn, simulated: Sequence[Judged] | None = None
) -> Iterator[Block]:
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
        rows.append([*row, *_links(one, shown_in)])
    header = ["section", "what the paper says", "verdict", "measured"]
    if beside:
        header = [*header[:2], "real programs", "measured", "simulation"]
    header = _with_links(header, shown_in)
    caption = (
        f"All {len(rows)} sentences, in the paper's order and in our words; small print is ours. "
        "Every verdict is computed from the runs."
    )
    if beside:
        caption += " Both engines ran the same studies, and one code judges both."
    yield Table(header, rows, caption, frozenset(range(len(header))), folded=len(rows) > _MOST_ROWS)


def _published(judged: Sequence[Judged], mode: str) -> Iterator[Section]:
    """The paper's numbers and ours, of papers that have numbers in their text."""
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
    if not rows:
        return
    table = Table(
        ["what", "published", "measured", "verdict"],
        rows,
        "The numbers in the text of the paper, and ours.",
        frozenset({0, 1, 2, 3}),
        folded=len(rows) > _MOST_ROWS,
    )
    name = "Published and measured"
    yield Section(f"{name}{mode}", "published", [table], name)


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
    programs: list[str] = []
    for study in evidence.studies.values():
        runs = study.points.runs
        bad = sum(not run.good for run in runs.values())
        provenance = study.results.provenance
        programs.append(f"{provenance.get('version', '?')}, {provenance.get('commit', '?')}")
        rows.append(
            [
                study.name,
                str(study.results.study.get("title", "")),
                str(len(study.points.points)),
                str(len(runs)),
                Cell(f"{bad}", mark="bad") if bad else "0",
            ]
        )
    header = ["study", "title", "points", "runs", "not complete"]
    caption = "Each study has a results folder of its own, with every default in study.json."
    if len(set(programs)) == 1:
        caption += f" All were run by flashcrowd {programs[0]}."
    else:
        header.append("version, commit")
        rows = [[*row, program] for row, program in zip(rows, programs, strict=True)]
    return Table(header, rows, caption, frozenset({0, 1, 5}))


def judged_by(paper: Paper, evidence: Evidence) -> list[Judged]:
    """Every claim of `paper` with its finding."""
    return claims.judge(paper.claims, evidence, paper.judges)
