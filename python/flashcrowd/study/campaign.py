"""A study, lowered: plans and runs, carried out into a results folder."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from flashcrowd._core import Plan
from flashcrowd.base.extras import required
from flashcrowd.base.looks import Looks
from flashcrowd.engines import Engine
from flashcrowd.store import provenance
from flashcrowd.store.assemble import assembling
from flashcrowd.store.continuing import changes_of
from flashcrowd.store.errors import OtherFormat
from flashcrowd.store.folder import Folder, Tell
from flashcrowd.store.manifest import Manifest
from flashcrowd.store.results import Results
from flashcrowd.store.results import open as open_results
from flashcrowd.store.shard import Shard
from flashcrowd.study.pool import Done, Elsewhere, Job, Pool
from flashcrowd.study.progress import Lines, shown
from flashcrowd.study.until import conduct_until, kept_repeats, with_repeats


@dataclass(frozen=True)
class Campaign:
    """The input for the begin of a results folder.

    Attributes:
        manifest: points, runs and engine.
        study: the resolved study, every default written out.
        plans: the plan of each point.
        source: the study as a TOML file.
        looks: when to look whether points have enough runs; `None` where `manifest` has all runs.
    """

    manifest: Manifest
    study: Mapping[str, Any]
    plans: tuple[Plan, ...]
    source: str | None = None
    looks: Looks | None = None

    def grown(self, path: Path) -> Manifest:
        """The manifest with the repeats that a folder has beyond the first look."""
        if self.looks is None:
            return self.manifest
        kept = kept_repeats(path, len(self.manifest.points))
        counts = [max(count, self.looks.at_least) for count in kept]
        return with_repeats(self.manifest, counts, int(self.study["seed"]))

    @property
    def title(self) -> str:
        """The title of the study."""
        return str(self.study.get("title", self.manifest.name))


def fitting_folder(campaign: Campaign, path: Path) -> Path:
    """The path, or the first of `path-2`, `path-3`, … that is new or can go on."""
    number, candidate = 1, path
    while not _fits(campaign, candidate):
        number += 1
        candidate = path.with_name(f"{path.name}-{number}")
    return candidate


def _fits(campaign: Campaign, path: Path) -> bool:
    try:
        return not changes_of(path, campaign.grown(path), campaign.study)
    except OtherFormat:
        return False


def say(text: str) -> None:
    """Say on standard error what is mended."""
    print(f"mending: {text}", file=sys.stderr)


def conduct(
    campaign: Campaign,
    engine: Engine,
    path: Path,
    pool: Pool,
    progress: bool = False,
    lines: Lines | None = None,
    tell: Tell = say,
) -> Results:
    """Do the runs that the folder does not have, and make its tables.

    Damage in the folder is mended: the runs of a damaged file are run again.

    Args:
        campaign: what to run.
        engine: what runs it.
        path: the results folder, new or not.
        pool: where runs are carried out.
        progress: show a progress bar if there is a terminal.
        lines: the output where there is no terminal; None for silence there.
        tell: receives what was damaged.
    """

    def once(manifest: Manifest) -> Results:
        part = replace(campaign, manifest=manifest)
        return _conduct(part, engine, path, pool, progress, lines, tell)

    if campaign.looks is None:
        return once(campaign.manifest)
    required("report")  # which judges whether the runs are enough
    seed = int(campaign.study["seed"])
    return conduct_until(campaign.manifest, seed, campaign.looks, path, once)


def conduct_shard(
    campaign: Campaign,
    engine: Engine,
    path: Path,
    pool: Pool,
    shard: Shard,
    progress: bool = False,
    lines: Lines | None = None,
    tell: Tell = say,
) -> list[tuple[str, str]]:
    """Do those runs of a shard that the folder does not have; how each of the shard ended, and why.

    The folder is that of the whole study, unfinished: `store.merge` puts such folders together.
    The rest is as with `conduct`.

    Raises:
        ValueError: how many runs there are is not known beforehand.
    """
    if campaign.looks is not None:
        raise ValueError("a study that repeats until it is sure has no shards")
    with _opened(campaign, engine, path, tell) as folder:
        wanted = shard.of_runs(campaign.manifest.runs)
        done = sum(run in folder.places for run in wanted)
        todo = [job for job in _todo(campaign, folder) if job.run in set(wanted)]
        title = f"{campaign.title}, shard {shard}"
        kept: dict[str, object] = {"shard": str(shard)}
        with (
            _recording(folder, engine, pool, kept),
            shown(title, done, len(wanted), progress and bool(todo), lines) as watch,
        ):
            pool.execute(engine, todo, folder.add, watch)
            kept |= engine.finish()
        return folder.ends(wanted)


def _conduct(
    campaign: Campaign,
    engine: Engine,
    path: Path,
    pool: Pool,
    progress: bool,
    lines: Lines | None,
    tell: Tell,
) -> Results:
    with _opened(campaign, engine, path, tell) as folder:
        todo = _todo(campaign, folder)
        done, total = len(folder.places), len(campaign.manifest.runs)
        if not folder.assembled or todo:
            with assembling(folder) as assembly:

                def keep(batch: Sequence[Done]) -> None:
                    folder.add(batch)
                    assembly.advance()

                kept: dict[str, object] = {}
                with (
                    _recording(folder, engine, pool, kept),
                    shown(campaign.title, done, total, progress and bool(todo), lines) as watch,
                ):
                    pool.execute(engine, todo, keep, watch)
                    kept |= engine.finish()
                assembly.finish()
        elif not provenance.current(path):
            _record(folder, engine, provenance.now(), 0, {})
    return open_results(path)


@contextmanager
def _opened(campaign: Campaign, engine: Engine, path: Path, tell: Tell) -> Iterator[Folder]:
    """The campaign's folder; reports what is lost of earlier sessions."""
    with Folder.opened(
        path,
        campaign.manifest,
        campaign.study,
        [it.to_json() for it in campaign.plans],
        campaign.source,
        tell,
    ) as folder:
        provenance.settle(path, tell)
        if engine.repeat_invalid:
            folder.forget_invalid()
        yield folder


def _todo(campaign: Campaign, folder: Folder) -> list[Job]:
    return [Job(run, campaign.plans[run.point]) for run in folder.missing()]


@contextmanager
def _recording(
    folder: Folder, engine: Engine, pool: Pool, more: Mapping[str, object] | None = None
) -> Iterator[None]:
    """Record a session that lasts as long as the block, however that ends."""
    started = provenance.now()
    before = len(folder.places)
    try:
        yield
    finally:
        kept = len(folder.places) - before
        if kept or not provenance.current(folder.path):
            machines = {"workers": list(pool.machines)} if isinstance(pool, Elsewhere) else {}
            _record(folder, engine, started, kept, {**(more or {}), **machines})


def _record(
    folder: Folder, engine: Engine, started: str, kept: int, more: Mapping[str, object]
) -> None:
    seeds = list(dict.fromkeys(run.seed for run in folder.manifest.runs))
    provenance.record(folder.path, engine.build(), seeds, started, kept, more)
