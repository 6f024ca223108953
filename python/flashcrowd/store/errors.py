"""Errors of a results folder. Each error names the file and the remedy."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable, Sequence
from functools import wraps
from pathlib import Path
from typing import ParamSpec, TypeVar

from flashcrowd.base import folder_files
from flashcrowd.base.errors import Unusable

P = ParamSpec("P")
T = TypeVar("T")


class ResultsError(Unusable):
    """A results folder cannot be used.

    Attributes:
        path: the file or folder.
        what: what is wrong with it.
        remedy: what to do.
    """

    def __init__(self, path: Path, what: str, remedy: str) -> None:
        super().__init__(f"{path}: {what}\n  {remedy}")
        self.path = path
        self.what = what
        self.remedy = remedy


class DamagedResults(ResultsError):
    """A file is not what was written. Running the study again mends it.

    Attributes:
        state: what it is, in words.
        why: how it is known.
    """

    state = "is damaged"

    def __init__(self, path: Path, why: str, remedy: str) -> None:
        super().__init__(path, f"{self.state}: {why}", remedy)
        self.why = why

    @property
    def brief(self) -> str:
        """The mistake and its file, in a phrase."""
        return f"{self.path} {self.state} ({self.why})"


class ForeignResults(DamagedResults):
    """A file is sound, but another results folder's. Running the study again mends the folder."""

    state = "is of another results folder"


def refused(error: folder_files.Refused) -> ResultsError:
    """The error for what no results folder has: a link, a pipe, a length without sense."""
    return ResultsError(
        Path(error.filename),
        error.strerror or str(error),
        "Nothing was read or written there. flashcrowd leaves no such thing in a folder: look at "
        "where it comes from.",
    )


class OtherFormat(ResultsError):
    """The folder was written in another format."""


ODD = (ValueError, LookupError, TypeError, ArithmeticError, AttributeError, RuntimeError)
"""Exceptions of content of another shape than ours. Arrow's own errors are of these classes."""


def understood(tell: Callable[P, T]) -> Callable[P, T]:
    """For functions that read results: what they cannot make sense of is an error of the folder.

    Each file may be what was written, and still contradict another, as with a host of no
    population. Readers do not check for that.

    Raises:
        ResultsError: of any error that is not one in words.
    """

    @wraps(tell)
    def held(*args: P.args, **words: P.kwargs) -> T:
        try:
            return tell(*args, **words)
        except Unknown:
            raise
        except (*ODD, StopIteration, AssertionError) as error:
            raise Senseless(_named(args), error) from error

    return held


def _named(args: Sequence[object]) -> Path:
    """The folder that a function was given, as a path, as results, or the first of a list."""
    for each in args:
        if isinstance(each, list | tuple):
            return _named(each)
        if isinstance(folder := getattr(each, "path", each), Path):
            return folder
    return Path("results")


class Senseless(ResultsError):
    """Files of results are what was written, and do not fit together."""

    def __init__(self, folder: Path, error: Exception) -> None:
        frames = traceback.extract_tb(error.__traceback__)
        own = [frame for frame in frames if f"{os.sep}flashcrowd{os.sep}" in frame.filename]
        frame = (own or frames)[-1]
        what = f"{type(error).__name__} in {Path(frame.filename).name}:{frame.lineno}"
        said = " ".join(str(error).split())[:200]
        super().__init__(
            folder,
            "its files do not fit together" + (f" ({what}: {said})" if said else f" ({what})"),
            "If flashcrowd wrote these files and nobody changed them, this is a mistake in it: "
            "please report it with the study.",
        )


class TooLarge(Exception):
    """A file would need more memory than there is, as far as it says itself."""

    def __init__(self, needed: int, available: int) -> None:
        super().__init__(
            f"needs {needed / 1e9:,.1f} GB of memory, and {available / 1e9:,.1f} GB are available"
        )


class IncompleteResults(ResultsError):
    """The folder is sound, but runs are missing.

    Attributes:
        done: how many runs are finished.
        total: how many the study means.
    """

    def __init__(self, path: Path, done: int, total: int) -> None:
        super().__init__(
            path,
            f"{done} of {total} runs are finished, so there are no tables yet",
            "Run the study again with the same --out; it goes on where it stopped.",
        )
        self.done = done
        self.total = total


class Unknown(KeyError):
    """There is nothing of this name; the message lists what there is."""

    def __str__(self) -> str:
        return str(self.args[0])


class ResultsDiffer(ResultsError):
    """The folder holds results of another study or of another version of the code.

    Attributes:
        changes: what differs, one line each.
    """

    def __init__(
        self,
        path: Path,
        changes: Sequence[str],
        remedy: str = "Nothing was run. Use --fresh for a new folder beside it, or another --out.",
    ) -> None:
        shown = list(changes[:12])
        if len(changes) > len(shown):
            shown.append(f"… and {len(changes) - len(shown)} more")
        what = "holds results that do not belong to this study as it is now\n"
        super().__init__(
            path,
            what + "\n".join(f"    {change}" for change in shown),
            remedy,
        )
        self.changes = tuple(changes)
