"""The file while it is fetched: its bytes next to the target, and a note of which are there.

`NAME.part` has the length of the file from the beginning on. `NAME.part.json` names runs of bytes
that are on the disk for sure: the bytes are flushed first, then the note is replaced as a whole.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import shutil
import stat
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from flashcrowd.base import folder_files
from flashcrowd.base.amounts import scaled
from flashcrowd.base.errors import limit
from flashcrowd.http.errors import FetchError, Local
from flashcrowd.http.fields import Validator
from flashcrowd.http.ranges import Ranges, Run

FORMAT = "flashcrowd-part"
VERSION = 1
NOTE_S = 1.0
"""Time between two notes, in seconds; at least `REST` times what the last one took."""
REST = 4
MOST_NOTE = 64 << 20
"""The longest note that is read, in bytes."""


@dataclass(frozen=True)
class Source:
    """The file that a part's bytes are of.

    Attributes:
        url: the address that was asked for, without credentials.
        validator: which version of it.
        length: bytes of the file; None where the server does not say.
        mixed: whether bytes of other versions may be among them, so that only a digest of the file
            can tell whether it is right.
    """

    url: str
    validator: Validator
    length: int | None
    mixed: bool = False


class Part:
    """`NAME.part` of a target, open and locked.

    `write` and `drop` are for one thread; `ranges` may be looked at by others under `lock`.
    """

    def __init__(self, target: Path, durable: bool = True) -> None:
        self.target = target
        self._durable = durable
        self.path = target.with_name(target.name + ".part")
        self.note = target.with_name(target.name + ".part.json")
        self._new_note = target.with_name(target.name + ".part.json.new")
        self.source: Source | None = None
        self.digest_decides = False
        """Whether bytes are kept of which no validator says that they belong together."""
        self.ranges = Ranges()
        self.servers: set[str] = set()
        """The addresses that have sent them."""
        self.lock = threading.Lock()
        self._changed = False
        self._leave = False  # `close` must not remove it
        self._stop = threading.Event()
        self._notes: threading.Thread | None = None
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        try:
            self.fd = os.open(self.path, flags, 0o666)
        except (OSError, ValueError) as error:
            raise _unwritable(self.path, error) from error
        found = os.fstat(self.fd)
        if not stat.S_ISREG(found.st_mode) or found.st_nlink > 1:
            os.close(self.fd)
            raise _foreign(self.path)
        try:
            fcntl.flock(self.fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _same_file(self.fd, self.path)
        except OSError:
            os.close(self.fd)
            raise Local(
                f"{self.path}: another fetch is at work on it; wait for it, or name another place "
                "(-o, -d)"
            ) from None

    def resume(self, urls: Sequence[str]) -> str:
        """Take up what an earlier call has kept of a file; gives why it cannot be used, if so.

        Without an earlier call, nothing is kept and nothing is wrong.

        Args:
            urls: the addresses of the file. What was kept of another one may be used if a digest
                decides.

        Raises:
            Local: there are files of these names that no fetch has made.
        """
        size = os.fstat(self.fd).st_size
        self._leave = True
        try:
            text = folder_files.read(self.note, most=MOST_NOTE)
        except folder_files.Refused:
            raise _foreign(self.note) from None
        except FileNotFoundError:
            if size:
                raise _foreign(self.path) from None
            self._leave = False
            return ""
        except OSError as error:
            raise _unwritable(self.note, error) from error
        read = _read(text)
        if read is None:
            raise _foreign(self.note)
        source, ranges, servers = read
        if not ranges.bytes:
            self._leave = False
            return ""
        if source.length != size:
            return f"{self.note.name} does not fit to {self.path.name}"
        mixed = source.url not in urls or not source.validator.strong
        if mixed and not self.digest_decides:
            if source.url not in urls:
                return f"{self.path.name} is of {source.url}"
            return f"nothing says of which version {self.path.name} is"
        if source.url not in urls:
            source = replace(source, url=urls[0])
        self.source, self.ranges = replace(source, mixed=mixed), ranges
        self.servers = servers
        self._leave = False
        return ""

    def begin(self, source: Source) -> None:
        """Start from zero, with nothing of the file there.

        Raises:
            Local: there is no space.
        """
        self.forget(source)
        if source.length:
            self._allocate(source.length)

    def forget(self, source: Source | None = None) -> None:
        """Forget all that is there; of what it will be next may be known."""
        with self.lock:
            self.ranges, self.servers = Ranges(), set()
            self._changed = self._leave = False
            self.source = source
            # No note may outlive the bytes that it is about, not even through a loss of power; and
            # bytes without a note would not be known as ours.
            try:
                self._write_note(source or Source("", Validator(), None), [])
                _flush_folder(self.note.parent)
                os.ftruncate(self.fd, 0)
            except OSError as error:
                raise _unwritable(self.note, error) from error

    def adopt(self, source: Source, proven: bool = False) -> None:
        """Go on with bytes that have another validator.

        Without a proof that it is of the same bytes, only a digest of the file decides from here
        on.
        """
        with self.lock:
            mixed = not proven or (self.source is not None and self.source.mixed)
            self.source = replace(source, mixed=mixed)
            self._changed = True

    @property
    def _worth(self) -> bool:
        """Whether what is there is of use to the next call."""
        source = self.source
        if source is None or source.length is None:
            return False
        return self.digest_decides or (source.validator.strong and not source.mixed)

    def _allocate(self, length: int) -> None:
        free = shutil.disk_usage(self.path.parent).free
        short = Local(
            f"{self.path.parent}: {scaled(length, 'B')} are needed, {scaled(free, 'B')} are free; "
            "make room, or name another place (-o, -d)"
        )
        if length > free:
            raise short
        if not hasattr(os, "posix_fallocate"):  # macOS
            os.ftruncate(self.fd, length)
            return
        try:
            os.posix_fallocate(self.fd, 0, length)
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                os.ftruncate(self.fd, 0)
                raise short from error
            if error.errno not in (errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS):
                os.ftruncate(self.fd, 0)
                raise _unwritable(self.path, error) from error
            os.ftruncate(self.fd, length)

    def write(self, at: int, data: bytes | memoryview, server: str = "") -> int:
        """Put bytes where they belong, except where there are some; gives how many were missing."""
        view = memoryview(data)
        end = at + len(view)
        written = 0
        for start, stop in list(self.ranges.gaps(at, end)):
            self._put(start, view[start - at : stop - at])
            with self.lock:
                self.ranges.add(start, stop)
                self.servers.add(server)
                self._changed = True
            written += stop - start
        return written

    def _put(self, at: int, view: memoryview) -> None:
        try:
            while view:
                count = os.pwrite(self.fd, view, at)
                at, view = at + count, view[count:]
        except OSError as error:
            raise _unwritable(self.path, error, kept=self._worth) from error

    def drop(self, start: int, end: int) -> None:
        """Bytes that are wrong: they are missing again."""
        with self.lock:
            self.ranges.remove(start, end)
            self._changed = True

    def missing(self) -> list[Run]:
        """Runs of bytes that are not there; to the end of the file if its length is known."""
        assert self.source is not None
        assert self.source.length is not None
        return list(self.ranges.gaps(0, self.source.length))

    def take_notes(self) -> None:
        """Note at intervals which bytes are there, in a thread of its own, until `close`."""
        self._notes = threading.Thread(target=self._keep_noting, name="notes", daemon=True)
        self._notes.start()

    def _keep_noting(self) -> None:
        rest = NOTE_S
        while not self._stop.wait(rest):
            begin = time.monotonic()
            # The thread that writes meets the same error of the disk, and reports it.
            with contextlib.suppress(OSError):
                self.keep()
            rest = max(NOTE_S, REST * (time.monotonic() - begin))

    def keep(self) -> None:
        """Note what is there, after it is on the disk."""
        with self.lock:
            source = self.source
            if not self._changed or source is None or not self._worth:
                return
            self._changed = False
            runs = list(self.ranges)
        try:
            self._flush(self.fd, getattr(os, "fdatasync", os.fsync))
            with self.lock:
                if self.source is source:  # else it was forgotten meanwhile
                    self._write_note(source, runs)
        except OSError:
            self._changed = True
            raise

    def _write_note(self, source: Source, runs: list[Run]) -> None:
        # Without a validator, only a digest can show that a later download may resume.
        known = source.validator.strong and not source.mixed
        validator = source.validator if known else Validator()
        content = {
            "format": FORMAT,
            "version": VERSION,
            "url": source.url,
            "etag": validator.etag,
            "last_modified": validator.date,
            "length": source.length,
            "had": runs,
            "servers": sorted(self.servers),
        }
        # A file of its own: who may write into this folder may have put a link there.
        self._new_note.unlink(missing_ok=True)
        with self._new_note.open("x", encoding="utf-8") as file:
            json.dump(content, file)
            file.flush()
            self._flush(file.fileno())
        os.replace(self._new_note, self.note)

    def _remove_note(self) -> None:
        self.note.unlink(missing_ok=True)
        self._new_note.unlink(missing_ok=True)

    def finish(self, replace: bool) -> None:
        """The file is whole: give it its name.

        Raises:
            Local: there is a file of that name meanwhile.
        """
        self._end_notes()
        length = self.source.length if self.source and self.source.length is not None else None
        try:
            os.ftruncate(self.fd, self.ranges.prefix if length is None else length)
            self._flush(self.fd)
            if not replace and os.path.lexists(self.target):
                self.keep()
                raise taken(self.target)
            os.replace(self.path, self.target)
            self._leave = True
            self._remove_note()
            _flush_folder(self.target.parent)
        except OSError as error:
            raise _unwritable(self.target, error) from error

    def close(self) -> None:
        """Note what is there, and close; without anything worth keeping, nothing stays."""
        self._end_notes()
        try:
            if self._leave:
                if not os.fstat(self.fd).st_size and _is(self.fd, self.path):
                    self.path.unlink()
            elif self._worth and self.ranges.bytes:
                self.keep()
            elif _is(self.fd, self.path):
                self._remove_note()
                self.path.unlink(missing_ok=True)
        finally:
            os.close(self.fd)

    def _flush(self, fd: int, way: Callable[[int], None] = os.fsync) -> None:
        """Wait until what was written is on the disk, if it is to outlast a power cut."""
        if self._durable:
            way(fd)

    def _end_notes(self) -> None:
        self._stop.set()
        if self._notes is not None:
            self._notes.join()
            self._notes = None


def taken(target: Path, how: str = "") -> Local:
    """There is a file of the name already."""
    there = f"{target}: is there already{how and ' '}{how}"
    return Local(f"{there}; --overwrite replaces it, --skip-existing leaves it")


def _foreign(path: Path) -> Local:
    return Local(f"{path}: is there and of something else; move it, or name another place (-o, -d)")


def _read(text: bytes) -> tuple[Source, Ranges, set[str]] | None:
    """The content of a note; None if it is none."""
    try:
        said = json.loads(text)
        if (said["format"], said["version"]) != (FORMAT, VERSION):
            return None
        etag, date, length = said["etag"], said["last_modified"], said["length"]
        if not (isinstance(etag, str) and isinstance(date, str) and isinstance(said["url"], str)):
            return None
        if length is not None and type(length) is not int:
            return None
        servers = said.get("servers", [said["url"]])
        if not isinstance(servers, list) or not all(isinstance(it, str) for it in servers):
            return None
        runs = [(start, end) for start, end in said["had"]]
        for start, end in runs:
            if (
                type(start) is not int
                or type(end) is not int
                or not 0 <= start < end <= (length or 0)
            ):
                return None
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    source = Source(said["url"], Validator(etag, date, bool(etag or date)), length)
    return source, Ranges(runs), set(servers)


def _same_file(fd: int, path: Path) -> None:
    """Between opening and locking, another fetch may have given the file its name."""
    if not _is(fd, path):
        raise OSError(errno.ESTALE, "another file")


def _is(fd: int, path: Path) -> bool:
    try:
        there = os.stat(path, follow_symlinks=False)
    except OSError:
        return False
    return os.path.samestat(os.fstat(fd), there)


def _flush_folder(folder: Path) -> None:
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _unwritable(path: Path, error: OSError | ValueError, kept: bool = True) -> FetchError:
    if not isinstance(error, OSError):
        return Local(f"{str(path)!r}: is no name of a file ({error})")
    why = error.strerror or str(error)
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        then = "goes on" if kept else "begins anew, as the server says no length or version"
        return Local(f"{path}: {why}; make room and give the command again, it {then}")
    if error.errno == errno.EFBIG:
        return Local(f"{path}: {limit(error)}; name another place (-o, -d)")
    if error.errno == errno.ELOOP:
        return Local(f"{path}: is a symbolic link; remove it, or name another place (-o, -d)")
    if error.errno in (errno.ENOENT, errno.ENOTDIR):
        return Local(f"{path.parent}: is no folder; make it, or name another place (-o, -d)")
    return Local(f"{path}: {why}; name another place (-o, -d)")
