"""Run a paper's campaign and judge its claims."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from flashcrowd.engines import registry
from flashcrowd.papers import campaign, distance, null_world, paper, paper_docs, paper_page
from flashcrowd.papers.campaign import Tell
from flashcrowd.papers.claim import Judged
from flashcrowd.papers.distance import Distance
from flashcrowd.papers.evidence import Evidence
from flashcrowd.papers.null_world import NullWorld
from flashcrowd.papers.paper import Item, Paper
from flashcrowd.report.source import Source


@dataclass(frozen=True)
class Reproduction:
    """What came out.

    Attributes:
        judged: every claim with its finding.
        page: path of the report.
        simulated: what the simulation says of the same studies, where real programs ran them.
        distances: how far both are from each other then, study by study.
        results: of each study, by its name; of both engines where two ran it.
        null_world: what the same runs shuffled among their points reproduce, if that was asked.
    """

    judged: list[Judged]
    page: Path
    simulated: list[Judged] | None = None
    distances: list[Distance] = field(default_factory=list)
    results: list[tuple[str, Source]] = field(default_factory=list)
    null_world: NullWorld | None = None


def reproduce(
    name: str,
    out: str | Path | None = None,
    *,
    quick: bool = False,
    jobs: int | None = None,
    only: Sequence[str] = (),
    tell: Tell = lambda name, number, count: None,
    further: Mapping[str, object] | None = None,
    repeats: int | None = None,
    again: str | None = None,
    engine: str = registry.DEFAULT,
    repeat_invalid: int = 0,
    shuffles: int = 0,
    docs: Path | None = None,
    missing: Callable[[str, str], None] = lambda study, why: None,
) -> Reproduction:
    """Reproduce a paper; a second call does what is missing.

    Args:
        name: the paper, such as ``rao2010``.
        out: folder for everything; without, ``results/NAME`` or ``results/NAME-quick``.
        quick: cut the studies down, and say so in every title.
        jobs: runs at a time; without, as many as the paper says of real programs, or else as the
            engine has room for.
        only: figures and tables to make, by id; without, all.
        tell: called before each study.
        further: values that replace those of every study that has them.
        repeats: replaces the repeats of every study.
        again: as for `study.runner.run`.
        engine: what runs the studies. With one of real programs these run those that they can, as
            the paper's folder says, and the simulation the same beside them: `out` has a folder for
            each engine. `real` is the one that the paper's folder has.
        repeat_invalid: how often an invalid run of real programs is played again.
        docs: a page in Markdown whose places for this paper are written, see `paper_docs`.
        shuffles: judge the claims again so often with the runs shuffled among the points.
        missing: called for a study that this machine has no program for, with the reason.

    Raises:
        UnknownName: there is no such paper or item, or nothing of the paper is for this engine.
        NoPlace: `docs` cannot be read or has no place for what came out.
        RecordError: the record beside `docs` cannot be read.
        UnknownEngine: there is no such engine.
        StudyError: a study is wrong.
        PlanRejected: the engine cannot run one of them; nothing was begun.
        ResultsError: a results folder cannot be used.
        EngineError: a run failed.
    """
    chosen = paper.load(name)
    engine = chosen.meant(engine)
    registry.known(engine)
    real = engine if engine != registry.DEFAULT else ""
    if real and not chosen.played(real):
        has = ", ".join(it for it in paper.names() if paper.load(it).played(real)) or "no paper"
        raise paper.UnknownName(f"{name} is not for the engine {real}; {has} is")
    items = chosen.choose(only)
    needed = _needed(chosen, items, bool(only), quick, real)
    shown = {study for item in items for study in item.studies}
    if only and shown and not needed:
        raise paper.UnknownName(
            f"nothing to run: {'real programs do' if real else 'quick mode does'} not play "
            f"{', '.join(sorted(shown))}, which {', '.join(only)} shows"
        )
    if docs is not None:
        paper_docs.check(docs, quick=quick, real=bool(real), whole=not only)
    if real:
        needed = _without_programs(chosen, needed, real, missing)
        campaign.check(
            chosen, needed, registry.engine(real), quick=quick, further=further, repeats=repeats
        )
    folder = Path(out) if out is not None else default_folder(name, quick=quick, engine=engine)

    def conducted(by: str) -> Evidence:
        playing = registry.engine(by)
        playing.repeat_invalid = repeat_invalid
        at_a_time = jobs or (chosen.at_a_time(real) if by == real else None)
        return campaign.conduct(
            chosen, folder / by if real else folder, quick=quick, studies=needed,
            jobs=at_a_time, tell=tell,
            further=further, repeats=repeats, again=again, engine=playing, real=real,
        )  # fmt: skip

    beside = conducted(registry.DEFAULT) if real else None
    evidence = replace(conducted(engine), untold=chosen.untold(real))
    judged = paper_page.judged_by(chosen, evidence)
    simulated = paper_page.judged_by(chosen, beside) if beside else None
    distances = distance.between(beside, evidence, real) if beside else []
    written = paper_page.write(chosen, evidence, judged, folder, simulated, real, distances)
    ran = [it for each in (beside, evidence) if each for it in each.studies.values()]
    if docs is not None and beside is not None:
        paper_docs.write_by_programs(docs, chosen, beside, evidence, distances)
    elif docs is not None:
        paper_docs.write(docs, chosen, evidence, judged)
    results = [(it.name, it.results) for it in ran]
    shuffled = (
        null_world.visit(chosen.claims, evidence, chosen.judges, shuffles) if shuffles else None
    )
    return Reproduction(judged, written, simulated, distances, results, shuffled)


def _needed(
    chosen: Paper, items: Sequence[Item], chosen_items: bool, quick: bool, real: str
) -> list[str]:
    """The studies of which something is to be shown or judged, in the paper's order."""
    judged_by = set() if chosen_items else {study for it in chosen.claims for study in it.needs}

    def left_out(study: str) -> bool:
        return chosen.playing(study, real).skip if real else chosen.skipped(study)

    return [
        study
        for study in (chosen.played(real) if real else chosen.studies)
        if (study in judged_by or any(item.uses(study) for item in items))
        and not (quick and left_out(study))
    ]


def _without_programs(
    chosen: Paper, studies: Sequence[str], real: str, missing: Callable[[str, str], None]
) -> list[str]:
    """The studies whose programs this machine has; of others `missing` hears what is missing."""
    from flashcrowd.clients.programs import PROGRAMS
    from flashcrowd.emulation.players import PLAYERS

    known = {**PROGRAMS, **PLAYERS}
    there = []
    for study in studies:
        program = chosen.playing(study, real).program
        if program and known[program].found() is None:
            missing(study, f"{program} is not installed; {known[program].remedy}")
        else:
            there.append(study)
    return there


def default_folder(name: str, *, quick: bool, engine: str = registry.DEFAULT) -> Path:
    """The default folder of a reproduction."""
    parts = [name, *([engine] if engine != registry.DEFAULT else []), *(["quick"] if quick else [])]
    return Path("results") / "-".join(parts)
