"""A results folder while runs are added to it.

manifest.json     what it is for (format version, points, runs, engine), digests of the next three
study.json        the resolved study; study.toml says the same for people
plans/p0000.json  the plan of each point
runs/*.parquet    finished runs, many short ones to a file, see `store.batch`
tables/           the final tables, once every run is there, and their digests
provenance.json   version, commit, machine, when

A file that is not what was written, or another folder's (see `store.binding`), is mended when the
folder is opened for writing: it is rewritten from the study, or its runs count as missing.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

import pyarrow as pa

from flashcrowd.base import folder_files, locks
from flashcrowd.store import atomic, batch, digests, parquet, schema
from flashcrowd.store.batch import Batch, Card
from flashcrowd.store.binding import MOVE, Binding, cards_of, rows_of
from flashcrowd.store.continuing import changes_of, empty, manifest_of
from flashcrowd.store.errors import DamagedResults, ResultsDiffer, ResultsError
from flashcrowd.store.manifest import FILE, STUDY, Manifest, Run
from flashcrowd.store.verified import Verified

_PARTS = ("plans", "runs")
"""Folders in it that are filled file by file."""


Tell = Callable[[str], None]
"""Receives what was damaged, and how it is mended."""


class Finished(Protocol):
    """A run that ended well."""

    @property
    def run(self) -> Run:
        """Which one."""
        ...

    @property
    def tables(self) -> Mapping[str, pa.Table]:
        """The engine's tables; empty ones may be left out."""
        ...

    @property
    def cost(self) -> Mapping[str, object]:
        """Columns of the table `timings`."""
        ...


@dataclass(frozen=True)
class RunLocation:
    """The place of a finished run: the file, its row there, and its costs."""

    file: Path
    row: int
    cost: Mapping[str, object]


class Folder:
    """Where finished runs go. Made by `opened`, which keeps other writers out.

    Attributes:
        path: the folder.
        manifest: what it is for.
        tell: receives what is mended.
        places: where each finished run lies.
    """

    def __init__(self, path: Path, manifest: Manifest, tell: Tell) -> None:
        self.path = path
        self.manifest = manifest
        self.tell = tell
        self.places: dict[Run, RunLocation] = {}
        self._replaced: dict[Run, RunLocation] = {}

    @classmethod
    @contextmanager
    def opened(
        cls,
        path: Path,
        manifest: Manifest,
        study: Mapping[str, object],
        plans: Sequence[str],
        source: str | None = None,
        tell: Tell = lambda _: None,
    ) -> Iterator[Folder]:
        """A new folder, or one that can go on; the only writer until the block ends.

        Args:
            path: the folder.
            manifest: what is wanted.
            study: the resolved study.
            plans: the plan of each point as JSON.
            source: the study as a TOML file.
            tell: receives what was damaged and is mended.

        Raises:
            ResultsDiffer: the folder belongs to another study or version.
            ResultsError: another process is writing to it, or it cannot be used.
        """
        changes = changes_of(path, manifest, study)
        if changes:
            raise ResultsDiffer(path, changes)
        with atomic.naming(path):
            path.mkdir(parents=True, exist_ok=True)
        with _only_writer(path):
            with atomic.naming(path):
                for place in (path, *(path / name for name in _PARTS)):
                    atomic.sweep(place, path)
            folder = cls(path, manifest, tell)
            folder._describe(study, plans, source)
            folder._look()
            yield folder

    def _describe(
        self, study: Mapping[str, object], plans: Sequence[str], source: str | None
    ) -> None:
        """Write what the folder is for; the manifest last, since it makes the folder one."""
        files = {STUDY: atomic.dump(study)}
        if source is not None:
            files["study.toml"] = source
        files |= {f"plans/p{index:04d}.json": plan for index, plan in enumerate(plans)}
        written = {name: digests.of(text.encode()) for name, text in files.items()}
        self.manifest = replace(self.manifest, files=written)
        old = self._before()
        files[FILE] = digests.sealed(self.manifest.to_json())
        changed = [name for name, text in files.items() if not self._says(name, text)]
        with atomic.naming(self.path):
            for name in _PARTS:
                folder_files.make(self.path / name, self.path)
            if old is None or rows_of(old) != rows_of(self.manifest):
                atomic.remove_folder(self.path / "tables")
            for name in changed:
                if old is not None and self._turned(name, old.files.get(name)):
                    self.tell(f"{self.path / name} is damaged: it is written anew")
                atomic.write_bytes(self.path / name, files[name].encode(), self.path)

    def _says(self, name: str, text: str) -> bool:
        """Whether a file has this text."""
        file = self.path / name
        with digests.reading(file, self.path):
            return folder_files.exists(file, self.path) and (
                folder_files.read(file, self.path) == text.encode()
            )

    def _turned(self, name: str, digest: str | None) -> bool:
        """Whether a file that was written with this digest has another one, or is gone."""
        file = self.path / name
        return digest is not None and not (
            folder_files.exists(file, self.path) and digests.of_file(file, self.path) == digest
        )

    def _before(self) -> Manifest | None:
        """The manifest in the folder, if it is what was written."""
        if empty(self.path):
            return None
        try:
            return manifest_of(self.path)
        except DamagedResults as error:
            self.tell(f"{error.brief}: it is written anew")
        return None

    @property
    def assembled(self) -> bool:
        """Whether the final tables are there, what was written, and made from just these runs."""
        tables = Verified(self.path, self.manifest)
        if not tables.folder.is_dir():
            return False
        try:
            for name in schema.TABLES:
                tables.path(f"{name}.parquet")
        except DamagedResults as error:
            self.tell(f"{error.brief}: the tables are made anew")
            return False
        return tables.binding == Binding.of(self.path, self.manifest)

    def missing(self) -> list[Run]:
        """Runs that are not finished, in order."""
        return [run for run in self.manifest.runs if run not in self.places]

    def forget_invalid(self) -> None:
        """Count invalid runs as missing; the rows of one stay until another has taken its place.

        Raises:
            ResultsError: a file of runs cannot be read.
        """
        for run, place in [*self.places.items()]:
            if _is_invalid(place):
                self._replaced[run] = self.places.pop(run)

    def add(self, done: Sequence[Finished]) -> None:
        """Keep finished runs as one file, whole or not at all.

        Args:
            done: the runs with their tables and costs; adding the same ones again changes nothing.

        Raises:
            ValueError: the tables are not those of `schema.ENGINE_TABLES`.
            ResultsError: the disk is full, or the like.
        """
        cards = [Card(one.run, self.manifest.points[one.run.point].plan, one.cost) for one in done]
        more = f"+{len(done) - 1}" if len(done) > 1 else ""
        runs = [one.tables for one in done]
        name = f"{done[0].run.key}{more}"
        self._enter(batch.write(self.path, name, cards, runs, self.manifest.engine.digest), cards)
        old = {self._replaced.pop(one.run).file for one in done if one.run in self._replaced}
        for file in old - {it.file for it in (*self.places.values(), *self._replaced.values())}:
            self._remove(file)

    def adopt(self, file: Path, cards: Sequence[Card]) -> None:
        """Keep the runs of a file of another folder of this study, whole or not at all.

        Args:
            file: the file, which was looked at and belongs to this study.
            cards: what it says of its runs.

        Raises:
            ResultsError: the disk is full, or the like.
        """
        with digests.reading(file, file.parent.parent):
            data = folder_files.read(file, file.parent.parent, parquet.most())
        path = self.path / "runs" / file.name
        atomic.write_bytes(path, data, self.path)
        self._enter(path, cards)

    def ends(self, runs: Sequence[Run]) -> list[tuple[str, str]]:
        """How each of these finished runs ended, and why, see `schema.RUNS`.

        Raises:
            ResultsError: a file of runs cannot be read.
        """
        places = [self.places[run] for run in runs]
        found = {file: Batch(file).ends() for file in {place.file for place in places}}
        return [found[place.file][place.row] for place in places]

    def _look(self) -> None:
        """Enter what the files of finished runs hold; the runs of a damaged one are missing.

        Raises:
            ResultsError: one belongs elsewhere, or cannot be read.
        """
        for path in batch.files(self.path):
            try:
                cards = cards_of(path, self.manifest, f"Nothing was run. {MOVE}")
            except DamagedResults as error:
                self.tell(f"{error.brief}: its runs are run again")
                self._remove(path)
                continue
            self._enter(path, cards)

    def _remove(self, file: Path) -> None:
        with atomic.naming(file), folder_files.parent(file, self.path) as runs:
            folder_files.remove(file.name, runs)

    def _enter(self, path: Path, cards: Sequence[Card]) -> None:
        for row, card in enumerate(cards):
            # A run that is there twice was played again, and the file of the first one was kept.
            if card.run not in self.places or _is_invalid(self.places[card.run]):
                self.places[card.run] = RunLocation(path, row, card.cost)


def _is_invalid(place: RunLocation) -> bool:
    """Whether a finished run kept no promise of its engine."""
    return Batch(place.file).ends()[place.row][0] == "invalid"


@contextmanager
def _only_writer(path: Path) -> Iterator[None]:
    """Hold the folder's lock; the system frees it when the process ends, however it ends."""
    with atomic.naming(path):
        lock = folder_files.opened_in_place(path / ".lock")
    with lock:
        try:
            locks.hold(lock.fileno())
        except OSError:
            lock.seek(0)
            raise ResultsError(
                path,
                f"is being written by another process ({lock.read().strip() or 'unknown'})",
                "Wait for it, or use another --out.",
            ) from None
        lock.truncate(0)
        lock.write(f"process {os.getpid()} on {socket.gethostname()}\n")
        lock.flush()
        yield
