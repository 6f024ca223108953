"""Run a paper's campaign and judge its claims."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flashcrowd.papers import campaign, paper, paper_page
from flashcrowd.papers.campaign import Tell
from flashcrowd.papers.claim import Judged


@dataclass(frozen=True)
class Reproduction:
    """What came out.

    Attributes:
        judged: every claim with its finding.
        page: path of the report.
    """

    judged: list[Judged]
    page: Path


def reproduce(
    name: str,
    out: str | Path | None = None,
    *,
    quick: bool = False,
    jobs: int | None = None,
    only: Sequence[str] = (),
    tell: Tell = lambda name, number, count: None,
    further: Mapping[str, Any] | None = None,
    repeats: int | None = None,
    again: str | None = None,
) -> Reproduction:
    """Reproduce a paper; a second call does what is missing.

    Args:
        name: the paper, such as ``rao2010``.
        out: folder for everything; without, ``results/NAME`` or ``results/NAME-quick``.
        quick: cut the studies down, and say so in every title.
        jobs: runs at a time; without, as many as there are cores.
        only: figures and tables to make, by id; without, all.
        tell: told before each study.
        further: values that replace those of every study that has them.
        repeats: replaces the repeats of every study.
        again: as for `study.runner.run`.

    Raises:
        UnknownName: there is no such paper or item.
        StudyError: a study is wrong.
        ResultsError: a results folder cannot be used.
        EngineError: a run failed.
    """
    chosen = paper.load(name)
    items = chosen.choose(only)
    judged_by = set() if only else {study for claim in chosen.claims for study in claim.needs}
    needed = [
        study
        for study in chosen.studies
        if (study in judged_by or any(item.uses(study) for item in items))
        and not (quick and chosen.skipped(study))
    ]
    folder = Path(out) if out is not None else default_folder(name, quick=quick)
    evidence = campaign.conduct(
        chosen, folder, quick=quick, studies=needed, jobs=jobs, tell=tell, further=further,
        repeats=repeats, again=again,
    )  # fmt: skip
    judged = paper_page.judged_by(chosen, evidence)
    return Reproduction(judged, paper_page.write(chosen, evidence, judged, folder))


def default_folder(name: str, *, quick: bool) -> Path:
    """Where a reproduction goes if nobody says."""
    return Path("results") / (f"{name}-quick" if quick else name)
