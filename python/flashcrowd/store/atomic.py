"""Files and folders that appear whole or not at all, even if the power fails meanwhile."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from flashcrowd.store.errors import ResultsError

SCRATCH = ".unfinished-"
"""Prefix of files and folders that nobody finished; they may be deleted at any time."""

_UMASK = os.umask(0)  # Can only be read by setting it: once, before there are threads.
os.umask(_UMASK)


def write_bytes(path: Path, data: bytes) -> None:
    """Write a file, replacing what was there."""
    with new_file(path) as scratch:
        scratch.write_bytes(data)


@contextmanager
def new_file(path: Path) -> Iterator[Path]:
    """Fill a file that takes the place of `path` when the block ends well.

    Yields:
        the file to fill; it vanishes if the block fails.
    """
    with naming(path):
        handle, name = tempfile.mkstemp(prefix=SCRATCH, dir=path.parent)
        os.close(handle)
        scratch = Path(name)
        try:
            yield scratch
            sync(scratch)
            os.chmod(scratch, 0o666 & ~_UMASK)
            os.replace(scratch, path)
        except BaseException:
            scratch.unlink(missing_ok=True)
            raise
        sync(path.parent)


def write_json(path: Path, value: Any) -> None:
    """Write a value as JSON, replacing what was there."""
    write_bytes(path, dump(value).encode())


def dump(value: Any) -> str:
    """A value as JSON that people can read, the same text for equal values."""
    return json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """Fill a folder that takes the place of `path` when the block ends well.

    Yields:
        the folder to fill; it vanishes if the block fails.
    """
    with naming(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        scratch = Path(tempfile.mkdtemp(prefix=SCRATCH, dir=path.parent))
        try:
            os.chmod(scratch, 0o777 & ~_UMASK)
            yield scratch
            for file in sorted(scratch.iterdir()):
                sync(file)
            sync(scratch)
            remove_folder(path)
            os.replace(scratch, path)
            sync(path.parent)
        except BaseException:
            shutil.rmtree(scratch, ignore_errors=True)
            raise


def remove_folder(path: Path) -> None:
    """Delete a folder, if it is there, at once as far as anybody can see."""
    if path.exists():
        trash = Path(tempfile.mkdtemp(prefix=SCRATCH, dir=path.parent))
        os.replace(path, trash / path.name)
        sync(path.parent)
        shutil.rmtree(trash, ignore_errors=True)


def sweep(folder: Path) -> None:
    """Delete what earlier processes left unfinished in a folder."""
    for left in folder.glob(SCRATCH + "*"):
        if left.is_dir():
            shutil.rmtree(left, ignore_errors=True)
        else:
            left.unlink(missing_ok=True)


def sync(path: Path) -> None:
    """Wait until the disk has a file or a folder's entries."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Turn errors of the operating system into ones that say which file, and what to do."""
    try:
        yield
    except OSError as error:
        raise ResultsError(
            path,
            f"cannot be written: {error.strerror or error}",
            "Nothing half-written was left. Make room or fix the permissions, then run the study "
            "again: finished runs are kept.",
        ) from error
