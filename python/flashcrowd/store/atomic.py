"""Files and folders that appear whole or not at all, even if the power fails meanwhile."""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from flashcrowd.base import folder_files
from flashcrowd.store.errors import ResultsError, refused

SCRATCH = ".unfinished-"
"""Prefix of unfinished files and folders; they may be deleted at any time."""

_UMASK = os.umask(0)  # Can only be read by setting it: once, before there are threads.
os.umask(_UMASK)


def write_bytes(path: Path, data: bytes, within: Path | None = None) -> None:
    """Write a file, replacing what was there.

    Args:
        path: the file.
        data: its content.
        within: the folder that a person named, if the file is deeper in it: no link below it is
            followed.
    """
    with naming(path), folder_files.parent(path, within) as folder:
        name, handle = _begun(folder)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            _end(path, name, folder)
        except BaseException:
            folder_files.remove(name, folder)
            raise


@contextmanager
def new_file(path: Path) -> Iterator[Path]:
    """Fill a file that takes the place of `path` when the block ends well.

    Yields:
        the file to fill; it vanishes if the block fails.
    """
    with naming(path):
        with folder_files.parent(path) as folder:
            name, handle = _begun(folder)
            os.close(handle)
        scratch = path.with_name(name)
        try:
            yield scratch
            with folder_files.parent(path) as folder:  # many files may be begun at a time
                _end(path, name, folder)
        except BaseException:
            scratch.unlink(missing_ok=True)
            raise


def _begun(folder: folder_files.Folder) -> tuple[str, int]:
    """A new file in a folder: its name, and its descriptor to write with."""
    name = _free_name()
    return name, folder_files.new_in(folder, name)


def _end(path: Path, name: str, folder: folder_files.Folder) -> None:
    """Give a file that is written its own name, once the disk has it."""
    with folder_files.open_in(folder, name) as file:
        if folder_files.STEPWISE:
            os.fsync(file.fileno())
            os.fchmod(file.fileno(), 0o666 & ~_UMASK)
    if not folder_files.STEPWISE:  # Windows: files of a user are the user's
        sync(path.with_name(name))
    folder_files.replace(name, path.name, folder)
    folder_files.sync(folder)


def _free_name() -> str:
    """A name that is free, as `tempfile` makes them."""
    return SCRATCH + secrets.token_hex(8)


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
        with folder_files.parent(path) as folder:
            name = _free_name()
            folder_files.make_in(folder, name, 0o777 & ~_UMASK)
            scratch = path.with_name(name)
            try:
                yield scratch
                for file in sorted(scratch.iterdir()):
                    sync(file)
                sync(scratch)
                remove_folder(path)
                folder_files.replace(name, path.name, folder)
                folder_files.sync(folder)
            except BaseException:
                folder_files.remove(name, folder)
                raise


def remove_folder(path: Path) -> None:
    """Delete a folder, if it is there, at once for all readers; of a link, the link."""
    with folder_files.parent(path) as folder:
        trash = _free_name()
        with suppress(FileNotFoundError):
            folder_files.replace(path.name, trash, folder)
            folder_files.sync(folder)
            folder_files.remove(trash, folder)


def enclosed(path: Path, within: Path) -> Path:
    """The path of a folder below one that a person named; it need not be there.

    Raises:
        ResultsError: a link, or no folder, is in its place or on the way.
    """
    with (
        naming(path),
        suppress(FileNotFoundError),
        folder_files.parent(path / SCRATCH, within),
    ):
        return path
    return path


def sweep(folder: Path, within: Path | None = None) -> None:
    """Delete what earlier processes left unfinished in a folder; it need not be there.

    Raises:
        folder_files.Refused: it is a link below `within`.
    """
    with suppress(FileNotFoundError), folder_files.parent(folder / SCRATCH, within) as opened:
        for left in os.listdir(opened):
            if left.startswith(SCRATCH):
                folder_files.remove(left, opened)


def sync(path: Path) -> None:
    """Wait until the disk has a file or a folder's entries."""
    if not folder_files.STEPWISE and path.is_dir():
        return  # Windows waits by itself
    # Windows flushes for who may write.
    handle = os.open(path, os.O_RDONLY if folder_files.STEPWISE else os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Turn errors of the operating system into ones that say which file, and what to do."""
    try:
        yield
    except folder_files.Refused as error:
        raise refused(error) from None
    except OSError as error:
        raise ResultsError(
            path,
            f"cannot be written: {error.strerror or error}",
            "Nothing half-written was left. Make room or fix the permissions, then run the study "
            "again: finished runs are kept.",
        ) from error
