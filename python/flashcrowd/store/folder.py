"""A results folder while runs are added to it.

manifest.json     what it is for (format version, points, runs, engine)
study.json        the resolved study; study.toml says the same for people
plans/p0000.json  the plan of each point
runs/*.parquet    finished runs, many short ones to a file, see `store.batch`
tables/           the final tables, once every run is there
provenance.json   version, commit, machine, when
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa

from flashcrowd.store import atomic, batch
from flashcrowd.store.batch import Batch, Card
from flashcrowd.store.errors import ResultsDiffer, ResultsError
from flashcrowd.store.manifest import FILE, Manifest, Run, differences

try:
    import fcntl
except ImportError:  # not a POSIX system: nothing guards against two writers
    fcntl = None  # type: ignore[assignment]


class Finished(Protocol):
    """A run that ended well."""

    @property
    def run(self) -> Run:
        """Which one."""
        ...

    @property
    def tables(self) -> Mapping[str, pa.Table]:
        """What the engine gave; empty tables may be left out."""
        ...

    @property
    def cost(self) -> Mapping[str, Any]:
        """Columns of the table `timings`."""
        ...


@dataclass(frozen=True)
class Place:
    """Where a finished run lies: the file, its row there, and what it cost."""

    file: Path
    row: int
    cost: Mapping[str, Any]


class Folder:
    """Where finished runs go. Made by `opened`, which keeps other writers out.

    Attributes:
        path: the folder.
        manifest: what it is for.
        places: where each finished run lies.
    """

    def __init__(self, path: Path, manifest: Manifest) -> None:
        self.path = path
        self.manifest = manifest
        self.places: dict[Run, Place] = {}
        self._wanted = frozenset(manifest.runs)

    @classmethod
    @contextmanager
    def opened(
        cls,
        path: Path,
        manifest: Manifest,
        study: Mapping[str, Any],
        plans: Sequence[str],
        source: str | None = None,
    ) -> Iterator[Folder]:
        """A new folder, or one that can go on; the only writer until the block ends.

        Args:
            path: the folder.
            manifest: what is wanted.
            study: the resolved study.
            plans: the plan of each point as JSON.
            source: the study as a TOML file.

        Raises:
            ResultsDiffer: the folder belongs to another study or version.
            ResultsError: somebody else is writing to it, or it cannot be used.
        """
        changes = changes_of(path, manifest, study)
        if changes:
            raise ResultsDiffer(path, changes)
        if not (path / FILE).exists() and not _empty(path):
            raise ResultsError(path, "is in the way: no results folder", "Use another --out.")
        with atomic.naming(path):
            path.mkdir(parents=True, exist_ok=True)
        with _only_writer(path):
            atomic.sweep(path)
            atomic.sweep(path / "plans")
            atomic.sweep(path / "runs")
            folder = cls(path, manifest)
            folder._describe(study, plans, source)
            folder._look()
            yield folder

    def _describe(self, study: Mapping[str, Any], plans: Sequence[str], source: str | None) -> None:
        """Write what the folder is for; the manifest last, since it makes the folder one."""
        files = {"study.json": atomic.dump(study)}
        if source is not None:
            files["study.toml"] = source
        files |= {f"plans/p{index:04d}.json": plan for index, plan in enumerate(plans)}
        files[FILE] = atomic.dump(self.manifest.to_json())
        changed = [name for name, text in files.items() if not _says(self.path / name, text)]
        with atomic.naming(self.path):
            (self.path / "plans").mkdir(exist_ok=True)
            (self.path / "runs").mkdir(exist_ok=True)
            if FILE in changed:
                atomic.remove_folder(self.path / "tables")
            for name in changed:
                atomic.write_bytes(self.path / name, files[name].encode())

    @property
    def assembled(self) -> bool:
        """Whether the final tables are there."""
        return (self.path / "tables").is_dir()

    def missing(self) -> list[Run]:
        """Runs that are not finished, in order."""
        return [run for run in self.manifest.runs if run not in self.places]

    def add(self, done: Sequence[Finished]) -> None:
        """Keep finished runs as one file, whole or not at all.

        Args:
            done: the runs with their tables and costs; adding the same ones again changes nothing.

        Raises:
            ValueError: the tables are not those of `schema.ENGINE_TABLES`.
            ResultsError: the disk is full, or the like.
        """
        cards = [
            Card(one.run.point, one.run.repeat, one.run.seed, self._plan(one.run), one.cost)
            for one in done
        ]
        more = f"+{len(done) - 1}" if len(done) > 1 else ""
        path = self.path / "runs" / f"{done[0].run.key}{more}.parquet"
        batch.write(path, cards, [one.tables for one in done], self.manifest.engine.digest)
        self._enter(path, cards)

    def _plan(self, run: Run) -> str:
        return self.manifest.points[run.point].plan

    def _look(self) -> None:
        """Enter what the files of finished runs hold.

        Raises:
            ResultsError: one is damaged or belongs elsewhere.
        """
        for path in batch.files(self.path):
            engine, cards = Batch(path).cards()
            runs = [Run(card.point, card.repeat, card.seed) for card in cards]
            wanted = self.manifest.engine.digest == engine and all(
                run in self._wanted and self._plan(run) == card.plan
                for run, card in zip(runs, cards, strict=True)
            )
            if not wanted:
                raise ResultsError(
                    path, "has runs of another plan, seed or engine", "Delete it and run again."
                )
            self._enter(path, cards)

    def _enter(self, path: Path, cards: Sequence[Card]) -> None:
        for row, card in enumerate(cards):
            run = Run(card.point, card.repeat, card.seed)
            self.places.setdefault(run, Place(path, row, card.cost))


def changes_of(path: Path, manifest: Manifest, study: Mapping[str, Any]) -> list[str]:
    """Why a folder cannot go on as `manifest` wants, one line a reason; empty if it can, or is new.

    Raises:
        ResultsError: the folder is damaged.
    """
    if not (path / FILE).exists():
        return []
    return differences(Manifest.read(path), manifest, read_json(path / "study.json"), study)


def read_json(path: Path) -> Any:
    """A JSON file of a results folder."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ResultsError(
            path, f"is damaged: {error}", f"Delete {path.parent} and run the study again."
        ) from error


def _says(file: Path, text: str) -> bool:
    return file.exists() and file.read_bytes() == text.encode()


def _empty(path: Path) -> bool:
    """Whether there is nothing, or only what we leave if we are killed before the manifest."""
    if not path.exists():
        return True
    ours = {".lock", "study.json", "study.toml", "plans", "runs"}
    return path.is_dir() and all(
        entry.name in ours or entry.name.startswith(atomic.SCRATCH) for entry in path.iterdir()
    )


@contextmanager
def _only_writer(path: Path) -> Iterator[None]:
    """Hold the folder's lock; the system frees it when the process ends, however it ends."""
    with atomic.naming(path):
        lock = (path / ".lock").open("a+", encoding="utf-8")
    with lock:
        if fcntl is not None:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                lock.seek(0)
                raise ResultsError(
                    path,
                    f"is being written by another process ({lock.read().strip() or 'unknown'})",
                    "Wait for it, or use another --out.",
                ) from None
        lock.truncate(0)
        lock.write(f"process {os.getpid()}\n")
        lock.flush()
        yield
