"""Run a study: from a file, or from Python, to results."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

from flashcrowd.base.errors import first, warning
from flashcrowd.engines import Engine, registry
from flashcrowd.store.manifest import Engine as EngineCard
from flashcrowd.store.manifest import Manifest, Point, Run
from flashcrowd.store.results import Results
from flashcrowd.study import Study
from flashcrowd.study.calibration import of_here
from flashcrowd.study.campaign import Campaign, conduct, fitting_folder
from flashcrowd.study.need import StudyNeed, refuse, study_need
from flashcrowd.study.pool import Pool
from flashcrowd.study.progress import Lines
from flashcrowd.study.repeats import Until
from flashcrowd.study.threads import Threads


def run(
    study: Study | str | Path,
    out: str | Path | None = None,
    jobs: int | None = None,
    progress: bool = True,
    *,
    fresh: bool = False,
    force: bool = False,
    engine: Engine | str = registry.DEFAULT,
    pool: Pool | None = None,
    again: str | None = None,
) -> Results:
    """Run a study and give its results; runs that the folder already has are not run again.

    Args:
        study: a study, or the path of a study file.
        out: results folder; without, `results/` and the study's name.
        jobs: runs at a time; without, one a core, and of real programs as many as fit.
        progress: show a progress bar if there is a terminal or a notebook to show it in.
        fresh: where `out` holds results of another study or version, use a new folder beside it.
        force: begin even if the runs are expected not to fit into this machine's memory.
        engine: what runs it, or its name, see `engines.registry`.
        pool: where runs are carried out; without, `jobs` threads of this process.
        again: the command that goes on after an interruption: given, lines are printed where there
            is no terminal.

    Raises:
        StudyError: the study is wrong, or would not fit into this machine's memory.
        UnknownEngine: there is no engine of this name.
        ResultsDiffer: the folder holds results of another study or version.
        ResultsError: the folder cannot be used.
        EngineError: a run failed.
        KeyboardInterrupt: Ctrl-C; finished runs are kept.
    """
    loaded = study if isinstance(study, Study) else Study.load(study)
    if jobs is not None and (type(jobs) is not int or jobs < 1):
        raise ValueError(f"jobs: {jobs}; a whole number of at least 1 is needed")
    for said in first([*map(warning, loaded.warnings())]):
        warnings.warn(said, stacklevel=3)
    path = Path(out) if out is not None else default_folder(loaded)
    chosen = registry.engine(engine) if isinstance(engine, str) else engine
    campaign = prepare(loaded, chosen)
    need = admit(campaign, chosen, jobs, force)
    if fresh:
        path = fitting_folder(campaign, path)
    lines = Lines(of_here(chosen, loaded, need), again) if again is not None else None
    return conduct(campaign, chosen, path, pool or Threads(need.jobs), progress, lines)


def prepare(study: Study, engine: Engine) -> Campaign:
    """Lower every point of a study to its plan, and check that the engine can read it."""
    points, plans = [], []
    for point in study.points():
        plan = point.plan()
        plans.append(plan.parsed)
        engine.check(plans[-1])
        points.append(Point(dict(point.values), plan.digest()))
    build = engine.build()
    manifest = Manifest(
        name=folder_name(study),
        fingerprint=study.fingerprint(point.plan for point in points),
        engine=EngineCard(engine.name, str(build["version"]), str(build["engine"])),
        points=tuple(points),
        runs=tuple(Run(one.point.index, one.repeat, one.seed) for one in study.runs()),
    )
    looks = study.repeats.looks if isinstance(study.repeats, Until) else None
    return Campaign(manifest, study.resolved(), tuple(plans), study.to_toml(), looks)


def admit(campaign: Campaign, engine: Engine, jobs: int | None, force: bool = False) -> StudyNeed:
    """The need of a study; refused if its runs would not fit into this machine's memory.

    The engine does not look again, run by run, at what was checked as a whole: by then other runs
    have taken the memory that was counted for them.

    Args:
        campaign: the study.
        engine: what is to run it.
        jobs: runs at a time; without, as many as the engine has room for.
        force: refuse nothing.

    Raises:
        StudyError: it names what is too large.
    """
    repeats = len(campaign.manifest.runs) // max(1, len(campaign.plans))
    if campaign.looks is not None:
        repeats = campaign.looks.at_most  # a point may have this many at a time at last
    need = study_need(engine, campaign.plans, repeats, jobs)
    if not force:
        refuse(need, campaign.manifest.name)
    engine.force = True
    return need


def default_folder(study: Study) -> Path:
    """The default folder of results: `results/` and the study's name."""
    return Path("results") / folder_name(study)


def both_folder(study: Study) -> Path:
    """The default folder of the results of both engines, each in a folder of its name."""
    return Path("results") / f"{folder_name(study)}-both"


def folder_name(study: Study) -> str:
    """The study's name as a folder may be called."""
    return re.sub(r"[^a-z0-9._-]+", "-", study.name.lower()).strip("-.") or "study"
