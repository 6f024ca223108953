"""A results folder while runs are added to it.

manifest.json     what it is for (format version, points, runs, engine)
study.json        the resolved study; study.toml says the same for people
plans/p0000.json  the plan of each point
runs/p0000-r0000/ one finished run: its tables, and run.json
tables/           the final tables, once every run is there
provenance.json   version, commit, machine, when
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from flashcrowd.store import atomic, schema
from flashcrowd.store.errors import ResultsDiffer, ResultsError
from flashcrowd.store.manifest import FILE, Manifest, Run, differences

try:
    import fcntl
except ImportError:  # not a POSIX system: nothing guards against two writers
    fcntl = None  # type: ignore[assignment]


class Folder:
    """Where finished runs go. Made by `opened`, which keeps other writers out."""

    def __init__(self, path: Path, manifest: Manifest) -> None:
        self.path = path
        self.manifest = manifest

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
            atomic.sweep(path / "runs")
            folder = cls(path, manifest)
            folder._describe(study, plans, source)
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
        """Runs that are not finished, in order.

        Raises:
            ResultsError: a finished run is damaged or belongs elsewhere.
        """
        return [run for run in self.manifest.runs if not self._finished(run)]

    def add(self, run: Run, tables: Mapping[str, pa.Table], cost: Mapping[str, Any]) -> None:
        """Keep a run's tables, whole or not at all. Any thread may call it.

        Args:
            run: which run.
            tables: what the engine gave; empty ones may be left out.
            cost: values for the table `timings`.

        Raises:
            ValueError: the tables are not those of `schema.ENGINE_TABLES`.
            ResultsError: the disk is full, or the like.
        """
        unknown = sorted(tables.keys() - schema.ENGINE_TABLES.keys())
        if unknown or "run" not in tables:
            raise ValueError(f"tables of a run: unknown {unknown}, got {sorted(tables)}")
        with atomic.new_folder(self.path / "runs" / run.key) as scratch:
            rows = {}
            for name, table in tables.items():
                if table.num_rows:
                    cast = schema.ENGINE_TABLES[name].cast(table)
                    pq.write_table(cast, scratch / f"{name}.parquet", compression="zstd")
                    rows[name] = {
                        "rows": cast.num_rows,
                        "bytes": (scratch / f"{name}.parquet").stat().st_size,
                    }
            if "run" not in rows:
                raise ValueError("tables of a run: `run` has no row")
            card = {**self._identity(run), "tables": rows, "cost": dict(cost)}
            (scratch / "run.json").write_text(atomic.dump(card), encoding="utf-8")

    def card(self, run: Run) -> dict[str, Any]:
        """What `run.json` of a finished run says."""
        return read_json(self.path / "runs" / run.key / "run.json")

    def _identity(self, run: Run) -> dict[str, Any]:
        plan = self.manifest.points[run.point].plan
        return {"seed": run.seed, "plan": plan, "engine": self.manifest.engine.digest}

    def _finished(self, run: Run) -> bool:
        home = self.path / "runs" / run.key
        if not home.exists():
            return False
        card = self.card(run)
        if any(card.get(key) != value for key, value in self._identity(run).items()):
            raise ResultsError(
                home, "is a run of another plan, seed or engine", "Delete it and run again."
            )
        for name, size in card["tables"].items():
            file = home / f"{name}.parquet"
            if not file.exists() or file.stat().st_size != size["bytes"]:
                raise ResultsError(
                    file, "is damaged (missing or cut off)", f"Delete {home} and run again."
                )
        return True


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
