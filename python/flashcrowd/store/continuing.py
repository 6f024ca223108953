"""Whether a folder that is there can go on as what is wanted now."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from flashcrowd.base import folder_files
from flashcrowd.store import atomic, batch, digests
from flashcrowd.store.batch import Batch
from flashcrowd.store.binding import belongs, rows_of
from flashcrowd.store.errors import DamagedResults, ForeignResults, ResultsError, understood
from flashcrowd.store.manifest import (
    FILE,
    STUDY,
    Manifest,
    changed_settings,
    differences,
    gone,
)
from flashcrowd.store.verified import FILE as DIGESTS


@understood
def changes_of(path: Path, manifest: Manifest, study: Mapping[str, object]) -> list[str]:
    """Why a folder cannot go on as `manifest` wants, one line a reason; empty if it can, or is new.

    Where the folder's own manifest is damaged, gone, or that of another folder, its files of runs
    and its study say what it is.

    Raises:
        ResultsError: it is no results folder, has another format, or cannot be read.
    """
    if empty(path):
        return []
    if not folder_files.exists(path / FILE, path) and not _written(path):
        raise ResultsError(path, "is in the way: no results folder", "Use another --out.")
    try:
        old = manifest_of(path)
    except DamagedResults as error:
        return _strange(path, manifest, study, error)
    try:
        text = digests.read_verified(path / STUDY, path, old.files.get(STUDY))
    except DamagedResults:
        changes = differences(old, manifest, None, study)
    else:
        changes = differences(old, manifest, json.loads(text), study)
    if changes and _is_strange(old, path):
        error = ForeignResults(path / FILE, "runs/ has runs of another study", "")
        return _strange(path, manifest, study, error)
    return changes


def manifest_of(path: Path) -> Manifest:
    """The manifest of what is a results folder."""
    if not folder_files.exists(path / FILE, path):
        raise gone(path)
    return Manifest.read(path)


def _is_strange(manifest: Manifest, path: Path) -> bool:
    """Whether a sound manifest is that of another folder: neither runs nor tables are its own."""
    files = batch.files(path)
    for file in files:
        with suppress(DamagedResults):
            if belongs(*Batch(file).cards(), manifest):
                return False
    with suppress(ResultsError):
        if digests.read_sealed(path / "tables" / DIGESTS, path).get("rows") == rows_of(manifest):
            return False
    return bool(files)


def _written(path: Path) -> bool:
    """Whether a folder without a manifest has runs or tables that we wrote."""
    for file in batch.files(path):
        with suppress(ResultsError):
            Batch(file).cards()
            return True
    with suppress(ResultsError):
        digests.read_sealed(path / "tables" / DIGESTS, path)
        return True
    return False


def _strange(
    path: Path, manifest: Manifest, study: Mapping[str, object], damage: DamagedResults
) -> list[str]:
    """Whether a folder without a manifest of its own is another study's, one line a reason."""
    known, said = False, f"{FILE} {damage.what}"
    for file in batch.files(path):
        with suppress(DamagedResults):
            if not belongs(*Batch(file).cards(), manifest):
                return [said, f"{file}: has runs of another plan, seed or engine"]
            known = True
    if known or not folder_files.exists(path / "tables", path):
        return []
    try:
        before = json.loads(folder_files.read(path / STUDY, path).decode())
    except (OSError, ValueError, RecursionError):
        return [said, f"{STUDY} and the files of runs do not say of which study"]
    changes = changed_settings(before, study)
    return [said, *changes] if changes else []


def empty(path: Path) -> bool:
    """Whether there is nothing, or only what we leave if we are killed before the manifest."""
    if not path.exists():
        return True
    ours = {".lock", STUDY, "study.toml", "plans", "runs"}
    return path.is_dir() and all(
        entry.name in ours or entry.name.startswith(atomic.SCRATCH) for entry in path.iterdir()
    )
