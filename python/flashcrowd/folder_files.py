"""Files below a folder that somebody else may have filled: found by descriptor, never by a link.

What a person names is followed wherever it leads. What lies below it is data from elsewhere: a link
there may lead anywhere, a pipe or a device has no end, a length may be a lie. So each step below is
taken from the descriptor of the folder before (`openat(2)` with `O_NOFOLLOW`), and a file is looked
at before it is opened.
"""

from __future__ import annotations

import errno
import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import BufferedReader
from pathlib import Path
from typing import TextIO

from flashcrowd.errors import visible

TEXT_BYTES = 1 << 28
"""Longer texts are refused: a manifest of a million runs has less."""

_DENSE_BYTES = 1 << 26
"""Files from this length on must not have holes: who made them wrote every byte."""

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC


class Refused(OSError):
    """Something below a folder is not what a program leaves there. Nothing was read or written."""


def directory(name: str | Path, within: int | None = None) -> int:
    """The descriptor of a folder, to be closed by the caller.

    Args:
        name: its path; with `within` its name there, which must not be a link.
        within: descriptor of the folder that it is in.

    Raises:
        Refused: it is a link, or no folder.
        OSError: it is not there, or may not be entered.
    """
    if within is None:
        return os.open(name, _FOLDER)
    try:
        return os.open(name, _FOLDER | os.O_NOFOLLOW, dir_fd=within)
    except OSError as error:
        if error.errno not in (errno.ENOTDIR, errno.ELOOP):
            raise
        found = os.stat(name, dir_fd=within, follow_symlinks=False)
        raise _refused(found, "a folder", str(name)) from None


def name_of(text: str) -> str:
    """A text from elsewhere as a part of a file's name: it leads into no folder."""
    return visible(text).replace("/", "_").replace("\\", "_")


@contextmanager
def parent(path: Path, within: Path | None = None) -> Iterator[int]:
    """The descriptor of the folder that a path is in.

    Args:
        path: a path below `within`.
        within: the folder that a person names, whose own path may have links; the path's folder if
            not given.

    Raises:
        Refused: a folder on the way is a link.
        OSError: one is not there, or may not be entered.
    """
    place = path.parent if within is None else within
    if os.pardir in path.relative_to(place).parts:
        raise Refused(errno.EINVAL, f"leads out of {place}", str(path))
    opened = directory(place)
    try:
        for name in path.parent.relative_to(place).parts:
            place /= name
            below = directory(name, opened)
            os.close(opened)
            opened = below
        place = path
        yield opened
    except Refused as error:
        error.filename = str(place)
        raise
    finally:
        os.close(opened)


def open_in(folder: int, name: str, most: int | None = None) -> BufferedReader:
    """A file of a folder, to read.

    Args:
        folder: the folder's descriptor.
        name: the file's name there.
        most: how long it may be, in bytes; any length if not given.

    Raises:
        Refused: it is a link, a folder, a pipe or a device; or longer, or has holes.
        OSError: it is not there, or cannot be opened.
    """
    # Looked at first: to open a device may already do something. Then it is looked at once more,
    # as another file may have taken its place.
    _plain(os.stat(name, dir_fd=folder, follow_symlinks=False), name, most)
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    opened = os.open(name, flags, dir_fd=folder)
    try:
        length = _plain(os.fstat(opened), name, most).st_size
        if length >= _DENSE_BYTES and os.lseek(opened, 0, os.SEEK_HOLE) < length:
            raise Refused(errno.EINVAL, f"is {length} bytes long, and most of it is nothing", name)
        os.lseek(opened, 0, os.SEEK_SET)
        return os.fdopen(opened, "rb")
    except BaseException:
        os.close(opened)
        raise


@contextmanager
def opened(
    path: Path, within: Path | None = None, most: int | None = None
) -> Iterator[BufferedReader]:
    """A file below a folder, to read; see `parent` and `open_in`."""
    with parent(path, within) as folder, open_in(folder, path.name, most) as file:
        yield file


def opened_in_place(path: Path) -> TextIO:
    """A file in a folder that a person names, to read and to write in its place; made if need be.

    Raises:
        Refused: it is a link, no file, or a file that has another name, too.
        OSError: it cannot be opened.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    with parent(path) as folder:
        with suppress(FileNotFoundError):
            found = os.stat(path.name, dir_fd=folder, follow_symlinks=False)
            _plain(found, str(path), None)
        handle = os.open(path.name, flags, 0o666, dir_fd=folder)
    try:
        if _plain(os.fstat(handle), str(path), None).st_nlink > 1:
            raise Refused(errno.EMLINK, "is a file that has another name, too", str(path))
        return os.fdopen(handle, "a+", encoding="utf-8")
    except BaseException:
        os.close(handle)
        raise


def read(path: Path, within: Path | None = None, most: int = TEXT_BYTES) -> bytes:
    """The content of a file below a folder; see `opened`."""
    with opened(path, within, most) as file:
        return _content(file, path.name, most)


def read_in(folder: int, name: str, most: int = TEXT_BYTES) -> bytes:
    """The content of a file of a folder; see `open_in`."""
    with open_in(folder, name, most) as file:
        return _content(file, name, most)


def exists(path: Path, within: Path) -> bool:
    """Whether there is anything of this name below a folder, a link that leads nowhere included.

    Raises:
        Refused: a folder on the way is a link.
    """
    with suppress(FileNotFoundError, NotADirectoryError), parent(path, within) as folder:
        os.stat(path.name, dir_fd=folder, follow_symlinks=False)
        return True
    return False


def names(folder: Path, within: Path) -> list[str]:
    """What is in a folder below another, in order; nothing if it is not there.

    Raises:
        Refused: it is a link, or no folder.
    """
    with suppress(FileNotFoundError, NotADirectoryError), parent(folder / "any", within) as opened:
        return sorted(os.listdir(opened))
    return []


def make(folder: Path, within: Path) -> None:
    """Make a folder below another, unless it is there.

    Raises:
        Refused: a link, or no folder, is in its place.
        OSError: it cannot be made.
    """
    with parent(folder, within) as above:
        with suppress(FileExistsError):
            os.mkdir(folder.name, dir_fd=above)
        os.close(directory(folder.name, above))


def remove(name: str, folder: int) -> None:
    """Remove a file, a link itself, or a folder with all that is in it; nothing if it is gone."""
    with suppress(FileNotFoundError):
        if stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
            shutil.rmtree(name, ignore_errors=True, dir_fd=folder)
        else:
            os.unlink(name, dir_fd=folder)


def clear(folder: int) -> None:
    """Remove all that is in a folder."""
    for name in os.listdir(folder):
        remove(name, folder)


def _content(file: BufferedReader, name: str, most: int) -> bytes:
    content = file.read(most + 1)
    if len(content) > most:  # it has grown meanwhile
        raise Refused(errno.EFBIG, f"is longer than {most} bytes", name)
    return content


def _plain(found: os.stat_result, name: str, most: int | None) -> os.stat_result:
    if not stat.S_ISREG(found.st_mode):
        raise _refused(found, "a file", name)
    if most is not None and found.st_size > most:
        raise Refused(
            errno.EFBIG, f"is {found.st_size} bytes long; at most {most} are read of it", name
        )
    return found


def _refused(found: os.stat_result, wanted: str, name: str) -> Refused:
    kinds = {
        stat.S_IFLNK: "a link, which is not followed",
        stat.S_IFDIR: "a folder",
        stat.S_IFREG: "a file",
        stat.S_IFIFO: "a pipe",
        stat.S_IFSOCK: "a socket",
    }
    kind = kinds.get(stat.S_IFMT(found.st_mode), "a device")
    return Refused(errno.EINVAL, f"is no {wanted.split()[1]} but {kind}", name)
