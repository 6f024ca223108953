"""A study, lowered: plans and runs, carried out into a results folder."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from flashcrowd.engines import Engine
from flashcrowd.engines.pool import Job, execute
from flashcrowd.store import provenance
from flashcrowd.store.assemble import assemble
from flashcrowd.store.folder import Folder, changes_of
from flashcrowd.store.manifest import Manifest, Run
from flashcrowd.store.results import Results
from flashcrowd.store.results import open as open_results
from flashcrowd.study.progress import bar


@dataclass(frozen=True)
class Campaign:
    """What a results folder needs to begin.

    Attributes:
        manifest: points, runs and engine.
        study: the resolved study, every default written out.
        plans: the plan of each point as JSON.
        source: the study as a TOML file.
    """

    manifest: Manifest
    study: Mapping[str, Any]
    plans: tuple[str, ...]
    source: str | None = None


def fitting_folder(campaign: Campaign, path: Path) -> Path:
    """The path, or the first of `path-2`, `path-3`, … that is new or can go on."""
    number, candidate = 1, path
    while changes_of(candidate, campaign.manifest, campaign.study):
        number += 1
        candidate = path.with_name(f"{path.name}-{number}")
    return candidate


def conduct(
    campaign: Campaign, engine: Engine, path: Path, jobs: int, progress: bool = False
) -> Results:
    """Do the runs that the folder does not have, then make its tables.

    Args:
        campaign: what to run.
        engine: what runs it.
        path: the results folder, new or not.
        jobs: runs at a time, at least 1.
        progress: show a progress bar if there is somebody to show it to.
    """
    manifest = campaign.manifest
    started = provenance.now()
    kept: list[Run] = []
    with Folder.opened(path, manifest, campaign.study, campaign.plans, campaign.source) as folder:

        def keep(run: Run, tables: Mapping[str, pa.Table], cost: Mapping[str, Any]) -> None:
            folder.add(run, tables, cost)
            kept.append(run)

        todo = [Job(run, _plan(campaign, run)) for run in folder.missing()]
        done = len(manifest.runs) - len(todo)
        try:
            with bar(manifest.name, done, len(manifest.runs), progress and bool(todo)) as watch:
                execute(engine, todo, keep, jobs, watch)
        finally:
            if kept or not (path / provenance.FILE).exists():
                seeds = list(dict.fromkeys(run.seed for run in manifest.runs))
                provenance.record(path, engine.build(), seeds, started, len(kept))
        if kept or not folder.assembled:
            assemble(folder)
    return open_results(path)


def _plan(campaign: Campaign, run: Run) -> Callable[[], str]:
    return lambda: campaign.plans[run.point]
