"""Files below a folder that others can write to: opened by descriptor, never through a link.

A path that the user names is followed wherever it leads. Files below it are data from elsewhere: a
link there may lead anywhere, a pipe or a device has no end, a length may be false. So each step
below is taken from the descriptor of the folder before (`openat(2)` with `O_NOFOLLOW`), and a file
is looked at before it is opened. Windows has no such steps: there a folder is its path, and each
step is looked at before it is taken.
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

from flashcrowd.base.errors import visible

TEXT_BYTES = 1 << 28
"""Longer texts are refused: a manifest of a million runs has less."""

_DENSE_BYTES = 1 << 26
"""Files from this length on must not have holes: who made them wrote every byte."""

STEPWISE = os.open in os.supports_dir_fd
"""Whether this system opens files from an open folder (`openat(2)`)."""

Folder = int | Path
"""An open folder: its descriptor, or its path where the system is not `STEPWISE`."""

# Windows has none of the first three, and reads text unless a flag asks for bytes.
_CLOEXEC = getattr(os, "O_CLOEXEC", 0)
_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | _CLOEXEC
_CAREFUL = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
_FILE = _CAREFUL | _CLOEXEC | getattr(os, "O_BINARY", 0)


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
        return os.open(name, _FOLDER | _CAREFUL, dir_fd=within)
    except OSError as error:
        if error.errno not in (errno.ENOTDIR, errno.ELOOP):
            raise
        found = os.stat(name, dir_fd=within, follow_symlinks=False)
        raise _refused(found, "a folder", str(name)) from None


def name_of(text: str) -> str:
    """A text from elsewhere as a part of a file's name: it leads into no folder."""
    return visible(text).replace("/", "_").replace("\\", "_")


@contextmanager
def parent(path: Path, within: Path | None = None) -> Iterator[Folder]:
    """The folder that a path is in, open until the block ends.

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
    if not STEPWISE:
        yield _walked(place, path.parent.relative_to(place).parts)
        return
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


def _walked(place: Path, names: tuple[str, ...]) -> Path:
    """The path of a folder, each step of which is a folder and no link."""
    for step, name in enumerate(("", *names)):
        place /= name
        found = os.stat(place, follow_symlinks=not step)
        if not stat.S_ISDIR(found.st_mode):
            raise _refused(found, "a folder", str(place))
    return place


def at(name: str, folder: Folder) -> tuple[str | Path, dict[str, int]]:
    """A file of an open folder, for a call of `os`: a path, and its `dir_fd`."""
    return (folder / name, {}) if isinstance(folder, Path) else (name, {"dir_fd": folder})


def replace(name: str, new: str, folder: Folder) -> None:
    """Give a file or a folder of an open folder another name, in the place of what has it."""
    if isinstance(folder, Path):
        os.replace(folder / name, folder / new)
    else:
        os.replace(name, new, src_dir_fd=folder, dst_dir_fd=folder)


def make_in(folder: Folder, name: str, mode: int = 0o777) -> None:
    """Make a folder in an open one."""
    path, within = at(name, folder)
    os.mkdir(path, mode, **within)


def new_in(folder: Folder, name: str) -> int:
    """The descriptor of a file of an open folder that was not there, to write, for its owner."""
    path, within = at(name, folder)
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _FILE, 0o600, **within)


def sync(folder: Folder) -> None:
    """Wait until the disk has the names of an open folder. Windows waits by itself."""
    if not isinstance(folder, Path):
        os.fsync(folder)


def open_in(folder: Folder, name: str, most: int | None = None) -> BufferedReader:
    """A file of a folder, to read.

    Args:
        folder: the open folder.
        name: the file's name there.
        most: how long it may be, in bytes; any length if not given.

    Raises:
        Refused: it is a link, a folder, a pipe or a device; or longer, or has holes.
        OSError: it is not there, or cannot be opened.
    """
    # Looked at first: to open a device may already do something. Then it is looked at once more,
    # as another file may have taken its place.
    path, within = at(name, folder)
    _plain(os.stat(path, follow_symlinks=False, **within), name, most)
    opened = os.open(path, os.O_RDONLY | _FILE, **within)
    try:
        length = _plain(os.fstat(opened), name, most).st_size
        if length >= _DENSE_BYTES and _hole(opened) < length:
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
    with parent(path) as folder:
        name, within = at(path.name, folder)
        with suppress(FileNotFoundError):
            found = os.stat(name, follow_symlinks=False, **within)
            _plain(found, str(path), None)
        handle = os.open(name, os.O_RDWR | os.O_CREAT | _FILE, 0o666, **within)
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


def read_in(folder: Folder, name: str, most: int = TEXT_BYTES) -> bytes:
    """The content of a file of a folder; see `open_in`."""
    with open_in(folder, name, most) as file:
        return _content(file, name, most)


def exists(path: Path, within: Path) -> bool:
    """Whether there is anything of this name below a folder, a link that leads nowhere included.

    Raises:
        Refused: a folder on the way is a link.
    """
    with suppress(FileNotFoundError, NotADirectoryError), parent(path, within) as folder:
        name, dir_fd = at(path.name, folder)
        os.stat(name, follow_symlinks=False, **dir_fd)
        return True
    return False


def names(folder: Path, within: Path) -> list[str]:
    """Names in a folder below another, in order; none if it is not there.

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
            make_in(above, folder.name)
        if isinstance(above, Path):
            _walked(above, (folder.name,))
        else:
            os.close(directory(folder.name, above))


def remove(name: str, folder: Folder) -> None:
    """Remove a file, a link itself, or a folder with all that is in it; nothing if it is gone."""
    path, within = at(name, folder)
    with suppress(FileNotFoundError):
        if stat.S_ISDIR(os.stat(path, follow_symlinks=False, **within).st_mode):
            shutil.rmtree(path, ignore_errors=True, dir_fd=within.get("dir_fd"))
        else:
            os.unlink(path, **within)


def clear(folder: Folder) -> None:
    """Remove all that is in a folder."""
    for name in os.listdir(folder):
        remove(name, folder)


def _hole(opened: int) -> int:
    """Where the first hole of a file begins, at its end if it has none."""
    if hasattr(os, "SEEK_HOLE"):
        return os.lseek(opened, 0, os.SEEK_HOLE)
    return os.fstat(opened).st_size


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
