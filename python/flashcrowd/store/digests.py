"""Digests of the files of a results folder: what a disk changed is an error, never a number.

Every file that we write has a SHA-256. A file of runs has it in its name, so that both appear at
once; those of the tables are in `tables/digests.json`; those of the study and the plans in the
manifest. The JSON files that hold digests are sealed: each has its own in it. What binds the files
to each other is in `store.binding`.
"""

from __future__ import annotations

import errno
import hashlib
import json
import shlex
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from flashcrowd.base import folder_files
from flashcrowd.store import atomic
from flashcrowd.store.errors import ODD, DamagedResults, ResultsError, TooLarge, refused

SHORT = 16
"""Hexadecimal digits of a digest in a file's name: 64 bits."""

KEY = "digest"
"""Key of a sealed file's own digest, the last one."""

MANIFEST = "manifest.json"


def of(data: bytes) -> str:
    """SHA-256 in hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()


def of_file(path: Path, folder: Path) -> str:
    """SHA-256 of a file below a folder, which need not fit into memory.

    Raises:
        OSError: it cannot be read, or is no file.
    """
    with folder_files.opened(path, folder) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def sealed(plain: Mapping[str, object]) -> str:
    """A JSON object as text, with the digest of all before as its last key."""
    return atomic.dump({**plain, KEY: of(atomic.dump(plain).encode())})


def unsealed(data: bytes) -> dict[str, Any]:
    """The JSON object of a sealed file.

    Raises:
        ValueError: it is not, byte by byte, what was sealed.
    """
    plain = json.loads(data.decode())
    if not isinstance(plain, dict) or KEY not in plain:
        raise ValueError("it does not hold its digest")
    del plain[KEY]
    if sealed(plain).encode() != data:
        raise ValueError("its digest is another")
    return plain


def read_sealed(path: Path, folder: Path) -> dict[str, Any]:
    """The JSON object of a sealed file of a results folder.

    Raises:
        DamagedResults: it is not what was written.
        ResultsError: it cannot be read.
    """
    with reading(path, folder):
        return unsealed(folder_files.read(path, folder))


def read_verified(path: Path, folder: Path, digest: str | None) -> bytes:
    """The content of a small file of a results folder that has this digest.

    Raises:
        DamagedResults: it is not what was written.
        ResultsError: it cannot be read.
    """
    with reading(path, folder):
        data = folder_files.read(path, folder)
        if of(data) != digest:
            raise ValueError("its digest is another")
    return data


@contextmanager
def reading(path: Path, folder: Path) -> Iterator[None]:
    """Turn what goes wrong while a file is read into an error that names it and the remedy."""
    try:
        yield
    except folder_files.Refused as error:
        raise refused(error) from None
    except TooLarge as error:
        what = "Read it where there is more memory, or look at where it comes from."
        raise ResultsError(path, str(error), what) from None
    except OSError as error:
        if not isinstance(error, FileNotFoundError) and error.errno not in (errno.EIO, None):
            what = f"cannot be read: {error.strerror or error}"
            raise ResultsError(path, what, "Fix the permissions, or look for another.") from error
        raise damaged(path, folder, error.strerror or str(error)) from error
    except ODD as error:
        raise damaged(path, folder, str(error)) from error


def damaged(path: Path, folder: Path, why: str) -> DamagedResults:
    """The error for a file of the results folder `folder` that is not what was written."""
    return DamagedResults(path, " ".join(why.split()), mending(folder))


def mending(folder: Path) -> str:
    """The command that mends a results folder."""
    study = folder / "study.toml"
    if not _as_written(study, folder):
        command = f"flashcrowd run STUDY.toml --out {shlex.quote(str(folder))}"
        return f"With the study's own file, this mends what it can: {command}"
    words = ["flashcrowd", "run", str(study), "--out", str(folder)]
    return f"This mends it, running again only what is lost: {shlex.join(words)}"


def _as_written(study: Path, folder: Path) -> bool:
    """Whether the study's file is there, and unchanged as far as its digest shows."""
    try:
        digest = of_file(study, folder)
    except OSError:
        return False
    try:
        manifest = unsealed(folder_files.read(folder / MANIFEST, folder))
        return manifest["files"]["study.toml"] == digest
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return True
